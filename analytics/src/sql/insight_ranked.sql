-- Which labels have the largest totals? Those of events in the range itself are placed first, then those of others.
SELECT *, dense_rank() OVER (ORDER BY isNull(label) OR NOT is_in_range, total DESC NULLS LAST, label) AS place
FROM (
    SELECT *, $total$ AS total, max(NOT is_compared) OVER by_label AS is_in_range
    FROM ($parts$)
    WINDOW by_label AS (PARTITION BY label)
)
