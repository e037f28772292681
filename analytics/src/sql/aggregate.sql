-- How many events of one name were there per period, and what do numbers in them come to?
-- What stands between dollars is a fixed fragment: see events/aggregate/question.rs.
SELECT
    toInt64(toUnixTimestamp(toDateTime(period, 'UTC'))) * 1000 AS period_ms,
    count() AS events,
    $figures$
FROM (
    SELECT
        $period$ AS period,
        $values$
    FROM events FINAL
    WHERE workspace_id = {workspace:UUID}
        AND event_name = {event_name:String}
        AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
            OR day = toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
        $and$
)
GROUP BY period
ORDER BY period
