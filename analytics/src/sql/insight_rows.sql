-- Which events does a question about people count, whose are they, and what of them does it need?
-- What stands between dollars is fixed fragments and parameters: see insights/rows.rs.
SELECT
    at_ms,
    $person$ AS person,
    $label$ AS label,
    $needs_links$ AS needs_links
    $columns$
FROM (
    SELECT
        toUnixTimestamp64Milli(timestamp) AS at_ms,
        $identifier$ AS identifier,
        $link_key$ AS link_key,
        $is_internal$ AS is_internal
        $event_columns$
    FROM events FINAL
    WHERE workspace_id = {workspace:UUID}
        AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')) OR toDayOfMonth(day) = 1)
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
        $and$
) AS tracked
$joins$
$where$
