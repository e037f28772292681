-- What became of messages to which nothing happened that counts by its time: their bits say it all. Part of other questions.
--
-- The rules are those of `message_judged.sql`, for messages without complaint, bounce and failure (3328). Putting
-- bits together by message costs less than putting rows together, and hardly depends on how many parts they
-- lie in. What must be known besides is packed: the upper half of the variant's hash, and the occurrence.
UNION ALL
SELECT
    indexOf(
        arrayMap(id -> bitShiftRight(cityHash64(id), 32), {variants:Array(String)}),
        bitShiftRight(sending, 32)
    ) AS place,
    toUInt32(bitAnd(sending, 4294967295)) AS occurrence,
    multiIf(
        bitAnd(happened, 60) != 0, 2,
        bitAnd(happened, 2) != 0, 1,
        bitAnd(happened, 4096) != 0, 3,
        bitAnd(happened, 8192) != 0, 4,
        bitAnd(happened, 16384) != 0, 5,
        6) AS class,
    class = 2 AND bitAnd(happened, 56) != 0 AS is_delivered,
    class = 2 AND bitAnd(happened, 48) != 0 AS is_opened,
    class = 2 AND bitAnd(happened, 32) != 0 AS is_clicked,
    false AS is_bounced,
    happened,
    count() AS messages,
    min(touched_at) AS first_ms,
    max(touched_at) AS last_ms
FROM (
    SELECT
        groupBitOr(told.happened) AS happened,
        max(bitShiftLeft(bitShiftRight(told.variant, 32), 32) + told.occurrence) AS sending,
        min(told.touched_at) AS touched_at
    FROM message_outcomes AS told
    WHERE told.workspace_id = {workspace:UUID}
        AND told.campaign_id = {campaign:UUID}
    GROUP BY told.message_id
    HAVING bitAnd(happened, 3328) = 0
)
GROUP BY happened, sending
