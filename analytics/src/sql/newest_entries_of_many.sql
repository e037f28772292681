-- Which entries of many identifiers' timelines are the newest?
-- Most rows that are read are of others, so that their other columns need not be.
SELECT timestamp, event_name, day, event_id
FROM timeline
PREWHERE workspace_id = {workspace:UUID}
    AND identifier IN {listed:Array(UInt64)}
WHERE timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
    AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
    AND ({any_name:Bool} OR event_name = {event_name:String})
ORDER BY timestamp DESC
LIMIT {wanted:UInt64}
