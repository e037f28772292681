-- How many events of one person match?
SELECT count() AS total
FROM events FINAL
PREWHERE (event_name, day, event_id) IN (
    SELECT event_name, day, event_id
    FROM timeline
    WHERE workspace_id = {workspace:UUID}
        AND identifier IN {listed:Array(UInt64)}
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
        AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND ({any_name:Bool} OR event_name = {event_name:String})
)
WHERE workspace_id = {workspace:UUID}
    AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    AND (user_id IN {identifiers:Array(String)} OR service_user_id IN {identifiers:Array(String)}
        OR user_id = '' AND service_user_id = '' AND anonymous_id IN {anonymous:Array(String)})
