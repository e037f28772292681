-- How many events, people or which numbers are there per interval and value of a breakdown?
-- `kind` is 0 for a value, 1 for its absence, 2 for values that are not among the largest. A row with `is_total` is of
-- all intervals of a range.
WITH labelled AS (
$rows$
)
SELECT
    toUInt8(grouping(interval_ms)) AS is_total,
    is_compared,
    interval_ms,
    kind,
    value,
    count() AS events,
    max(needs_links) AS needs_links,
    $figures$
FROM (
    SELECT
        is_compared,
        interval_ms,
        person,
        number,
        number_found,
        toUInt8(needs_links) AS needs_links,
        $kind$ AS kind,
        if(kind = 0, ifNull(label, ''), '') AS value
    FROM labelled
)
GROUP BY GROUPING SETS ((is_compared, kind, value, interval_ms), (is_compared, kind, value))
