-- Which messages of campaigns did people get, and which would they have got, were they not in a control group or had
-- their message not failed?
SELECT
    user_id,
    toUInt16(indexOf({campaigns:Array(UUID)}, campaign_id) - 1) AS campaign,
    reinterpretAsUInt128(message_id) AS message,
    occurrence,
    toUInt8(place) AS variant,
    toUInt8(class) AS class,
    if(class <= 2, touched_at, decided_at) AS at_ms
FROM ($outcomes$)
WHERE (class <= 2 OR class <= 5 AND place != 0 AND campaign_id = {unsent_of:UUID})
    AND at_ms >= {start_ms:Int64}
    AND at_ms <= {end_ms:Int64}
