-- How many people of each variant unsubscribed, complained, bounced, or had a message that failed? Each once.
SELECT
    toUInt8(place) AS variant,
    uniqExactIf(user_id, bitAnd(happened, {unsubscribed:UInt32}) != 0) AS unsubscribed,
    uniqExactIf(user_id, bitAnd(happened, {complained:UInt32}) != 0) AS complained,
    uniqExactIf(user_id, is_bounced) AS bounced,
    uniqExactIf(user_id, class = 3) AS failed
FROM ($outcomes$)
WHERE class != 1 AND place != 0
GROUP BY variant
ORDER BY variant
