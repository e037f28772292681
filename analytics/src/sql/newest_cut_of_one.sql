-- How far back must one look to meet so many entries of one identifier's timeline, newest first?
SELECT count() AS entries, toUnixTimestamp64Milli(min(timestamp)) AS cut_ms
FROM (
    SELECT timestamp
    FROM timeline
    WHERE workspace_id = {workspace:UUID}
        -- An equality, so that the table is read backwards in the order of its key and no further than needed.
        AND identifier = if({identifier:String} = '', 0, cityHash64({identifier:String}))
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
        AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND ({any_name:Bool} OR event_name = {event_name:String})
    ORDER BY timestamp DESC
    LIMIT {wanted:UInt64}
)
