-- How many events, people or which numbers are there per interval and value of a breakdown?
-- `kind` is 0 for a value, 1 for its absence, 2 for values that are not among the largest. A row with `is_total` is of
-- all intervals of a range. Parts of intervals are added up afterwards, since they are few beside the events.
SELECT
    toUInt8(grouping(interval_ms)) AS is_total,
    is_compared,
    interval_ms,
    kind,
    value,
    sum(part_events) AS events,
    max(part_needs_links) AS needs_links,
    max(part_needs_texts) AS needs_texts,
    $figures$
FROM (
    SELECT *, $kind$ AS kind, $value$ AS value
    FROM ($parts$)
)
GROUP BY GROUPING SETS ((is_compared, kind, value, interval_ms), (is_compared, kind, value))
