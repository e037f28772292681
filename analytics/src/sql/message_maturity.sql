-- Of how many messages of each variant is the attribution window over, and how old are the youngest?
SELECT
    toUInt8(place) AS variant,
    count() AS messages,
    countIf(decided_at <= {closed_ms:Int64}) AS closed,
    max(decided_at) AS last_ms,
    toInt64(quantileExact(0.9)(decided_at)) AS young_ms
FROM ($outcomes$)
WHERE class <= 5 AND place != 0
GROUP BY variant
ORDER BY variant
