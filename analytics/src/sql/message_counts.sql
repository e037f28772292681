-- How many messages of a campaign got how far, by variant and occurrence?
SELECT
    toUInt8(place) AS variant,
    occurrence,
    countIf(class != 1) AS queued,
    countIf(class = 2) AS sent,
    countIf(is_delivered) AS delivered,
    countIf(class = 2 AND delivered_at < never) AS told_delivered,
    countIf(is_opened) AS opened,
    countIf(class = 2 AND opened_at < never) AS told_opened,
    countIf(is_clicked) AS clicked,
    countIf(class = 3) AS failed,
    countIf(class = 4) AS skipped,
    countIf(class = 5) AS cancelled,
    countIf(class = 1) AS control,
    countIf(is_bounced AND class != 1) AS bounced,
    countIf(bitAnd(happened, 256) != 0) AS complained,
    countIf(bitAnd(happened, 512) != 0) AS unsubscribed,
    countIf(bitAnd(happened, 64) != 0) AS machine_opened,
    countIf(bitAnd(happened, 128) != 0) AS machine_clicked,
    minIf(touched_at, class <= 2) AS first_touch_ms,
    maxIf(touched_at, class <= 2) AS last_touch_ms
FROM ($judged$)
GROUP BY variant, occurrence
ORDER BY variant, occurrence
