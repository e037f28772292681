-- At which instant is the event that comes so many after the beginning of a range? No row where fewer come.
-- The timeline is read in the order of its key, and no further than needed. It may list an event twice; so many are
-- then a few less.
SELECT toUnixTimestamp64Milli(timestamp) AS at_ms
FROM timeline
WHERE workspace_id = {workspace:UUID}
    AND identifier = 0
    AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
    AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
    AND ({any_name:Bool} OR event_name = {event_name:String})
ORDER BY timestamp
LIMIT 1 OFFSET {events:UInt64}
