-- Which events of a name were tracked for known people in a time? Part of other questions.
workspace_id = {workspace:UUID}
        AND event_name = {event_name:String}
        AND (user_id != '' OR service_user_id != '' OR anonymous_id IN (
            SELECT id FROM identities WHERE workspace_id = {workspace:UUID} AND type = 'anonymous'))
        AND NOT ({without_apps:Bool} AND startsWith(event_id, 'sdk:'))
        AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
            OR day = toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
