-- How long after its sending was each message opened, clicked, or either? By the edge below which, in seconds.
WITH [0, 300, 900, 3600, 10800, 21600, 43200, 86400, 172800, 604800] AS edges
SELECT
    countIf(is_opened) AS sample,
    quantileExactInclusiveIf(0.5)(to_seen, is_opened) AS median_to_open_ms,
    quantileExactInclusiveIf(0.5)(to_click, is_clicked) AS median_to_click_ms,
    sumMapIf([toUInt32(roundDown(to_seen / 1000, edges))], [toUInt64(1)], is_opened) AS opened,
    sumMapIf([toUInt32(roundDown(to_click / 1000, edges))], [toUInt64(1)], is_clicked) AS clicked
FROM (
    SELECT
        is_opened,
        is_clicked,
        greatest(seen_at - left_at, 0) AS to_seen,
        greatest(clicked_at - left_at, 0) AS to_click
    FROM ($outcomes$)
    WHERE is_opened
)
