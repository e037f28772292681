-- Of how many messages of each variant is it known whether they were opened or clicked in time, and of how many were they?
SELECT
    toUInt8(place) AS variant,
    countIf(left_at <= {settled_ms:Int64} OR is_rewarded) AS sends,
    countIf(is_rewarded) AS rewards
FROM (
    SELECT place, left_at, if({clicks:Bool}, clicked_at, seen_at) AS at, at < never AND at - left_at <= {window_ms:Int64} AS is_rewarded
    FROM ($outcomes$)
    WHERE class = 2
)
GROUP BY variant
ORDER BY variant
