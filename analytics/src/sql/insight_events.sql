-- The events of a question about people in a range of time, as a condition.
workspace_id = {workspace:UUID}
        AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
            OR day = toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
        $and$
