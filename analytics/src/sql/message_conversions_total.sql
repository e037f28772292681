-- How many events of a name were tracked for known people in a time, up to a limit? Repeats count: a bound on the work of
-- reading them.
SELECT count() AS events
FROM (
    SELECT 1
    FROM events
    WHERE workspace_id = {workspace:UUID}
        AND event_name = {event_name:String}
        AND (user_id != '' OR service_user_id != '')
        AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
            OR day = toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    LIMIT {events_max:UInt64}
)
