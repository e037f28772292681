-- How many messages of a campaign got how far, by variant and occurrence?
SELECT
    toUInt8(place) AS variant,
    occurrence,
    sumIf(messages, class != 1) AS queued,
    sumIf(messages, class = 2) AS sent,
    sumIf(messages, class = 2 AND (is_opened OR NOT is_bounced)) AS sent_not_bounced,
    sumIf(messages, is_delivered) AS delivered,
    sumIf(messages, is_opened) AS opened,
    sumIf(messages, class = 2 AND bitAnd(happened, {opened:UInt32}) != 0) AS reported_opened,
    sumIf(messages, is_clicked) AS clicked,
    sumIf(messages, class = 3) AS failed,
    sumIf(messages, class = 4) AS skipped,
    sumIf(messages, class = 5) AS cancelled,
    sumIf(messages, class = 1) AS control,
    sumIf(messages, is_bounced AND class != 1) AS bounced,
    sumIf(messages, bitAnd(happened, {complained:UInt32}) != 0) AS complained,
    sumIf(messages, bitAnd(happened, {unsubscribed:UInt32}) != 0) AS unsubscribed,
    sumIf(messages, bitAnd(happened, {machine_opened:UInt32}) != 0) AS machine_opened,
    sumIf(messages, bitAnd(happened, {machine_clicked:UInt32}) != 0) AS machine_clicked
FROM ($counted$)
GROUP BY variant, occurrence
ORDER BY variant, occurrence
