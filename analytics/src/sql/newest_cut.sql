-- How far back must one look to meet so many entries of the timeline, newest first?
SELECT count() AS entries, toUnixTimestamp64Milli(min(timestamp)) AS cut_ms
FROM (
    SELECT timestamp
    FROM timeline
    WHERE workspace_id = {workspace:UUID}
        AND identifier IN (
            SELECT if(id = '', 0, cityHash64(id))
            FROM (SELECT arrayJoin({identifiers:Array(String)}) AS id)
        )
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
        AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND ({any_name:Bool} OR event_name = {event_name:String})
    ORDER BY timestamp DESC
    LIMIT {wanted:UInt64}
)
