-- When did the first and the last message of each occurrence leave, or would have, were they not held out?
-- Bounds: nothing is put together for them. Where the end of some was unknown, openings count for the last too,
-- since such a message left when the first report says so.
SELECT
    occurrence,
    min(touched_at) AS first_ms,
    if(
        max(bitAnd(happened, {unknown:UInt32})) = 0,
        maxIf(touched_at, bitAnd(happened, {span:UInt32}) != 0),
        max(touched_at)
    ) AS last_ms
FROM message_outcomes
WHERE workspace_id = {workspace:UUID}
    AND campaign_id = {campaign:UUID}
    AND touched_at < 9223372036854775807
GROUP BY occurrence
ORDER BY occurrence
