-- What became of messages to which nothing happened that counts by its time: their bits say it all. Part of other questions.
--
-- The rules are those of `message_final.sql`, for messages to which none of `among` happened; those to which any
-- did go by those rules. Putting bits together by message costs less than putting rows together, and hardly depends on
-- how many parts they lie in; one thread does it as fast as two that have to put their halves together. Each
-- column and each byte of the key would cost as much again. So the variant's place (8 bits) and the occurrence
-- (24 bits) ride in the upper half of the bits, since all rows of a message name the same ones, or none; and the
-- key is half of the message's id, 60 bits of a SHA-256: that two of a million are alike has a chance of 1 in 2
-- million.
UNION ALL
SELECT
    toUInt64(bitAnd(bitShiftRight(bits, 32), 255)) AS place,
    toUInt32(bitShiftRight(bits, 40)) AS occurrence,
    multiIf(
        bitAnd(bits, 60) != 0, 2,
        bitAnd(bits, 2) != 0, 1,
        bitAnd(bits, 4096) != 0, 3,
        bitAnd(bits, 8192) != 0, 4,
        bitAnd(bits, 16384) != 0, 5,
        6) AS class,
    class = 2 AND bitAnd(bits, 56) != 0 AS is_delivered,
    class = 2 AND bitAnd(bits, 48) != 0 AS is_opened,
    class = 2 AND bitAnd(bits, 32) != 0 AS is_clicked,
    false AS is_bounced,
    toUInt32(bitAnd(bits, 4294967295)) AS happened,
    count() AS messages
FROM (
    SELECT
        groupBitOr(bitOr(
            toUInt64(outcomes.happened),
            bitOr(
                bitShiftLeft(toUInt64(indexOf(
                    arrayMap(id -> cityHash64(id), {variants:Array(String)}),
                    outcomes.variant
                )), 32),
                bitShiftLeft(toUInt64(outcomes.occurrence), 40)
            )
        )) AS bits
    FROM message_outcomes AS outcomes
    WHERE outcomes.workspace_id = {workspace:UUID}
        AND outcomes.campaign_id = {campaign:UUID}
    GROUP BY reinterpretAsUInt64(outcomes.message_id)
    HAVING bitAnd(bits, {among:UInt32}) = 0
    SETTINGS max_threads = 1
)
GROUP BY bits
