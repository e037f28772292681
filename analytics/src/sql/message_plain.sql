-- The outcomes of messages without an event whose time matters, by their bits alone. Part of other queries.
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
        bitAnd(bits, {any_sent:UInt32}) != 0, 2,
        bitAnd(bits, {control:UInt32}) != 0, 1,
        bitAnd(bits, {unknown:UInt32}) != 0, 3,
        bitAnd(bits, {skipped:UInt32}) != 0, 4,
        bitAnd(bits, {cancelled:UInt32}) != 0, 5,
        6) AS class,
    class = 2 AND bitAnd(bits, {any_delivered:UInt32}) != 0 AS is_delivered,
    class = 2 AND bitAnd(bits, {engaged:UInt32}) != 0 AS is_opened,
    class = 2 AND bitAnd(bits, {clicked:UInt32}) != 0 AS is_clicked,
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
