-- Which messages of campaigns did people get, and which would they have got, were they not in a control group?
SELECT
    user_id,
    campaign_id,
    reinterpretAsUInt128(message_id) AS message,
    occurrence,
    toUInt8(place) AS variant,
    class = 1 AS is_control,
    touched_at AS at_ms
FROM ($outcomes$)
WHERE class <= 2
    AND touched_at >= {start_ms:Int64}
    AND touched_at <= {end_ms:Int64}
LIMIT {touches_max:UInt64}
