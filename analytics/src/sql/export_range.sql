-- The events of a workspace in a range of time, as a condition.
workspace_id = {workspace:UUID}
    AND ({any_name:Bool} OR event_name = {event_name:String})
    AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
        OR day = toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')))
    AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
    AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
