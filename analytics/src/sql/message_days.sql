-- How many messages of each variant were decided on each day (UTC), and how many of them were opened and clicked in?
SELECT
    toUInt8(place) AS variant,
    intDiv(decided_at, {day_ms:Int64}) AS day,
    count() AS people,
    countIf(class = 2 AND (is_opened OR NOT is_bounced)) AS messages,
    countIf(is_opened) AS opened,
    countIf(is_clicked) AS clicked
FROM ($outcomes$)
WHERE class <= 5 AND place != 0
GROUP BY variant, day
ORDER BY day DESC, variant
LIMIT {rows_max:UInt64}
