-- Which events of a workspace, or of one person, are the newest?
SELECT
    event_id,
    if(user_id != '', user_id, service_user_id) AS tracked_user_id,
    anonymous_id,
    event_name AS name,
    properties,
    toUnixTimestamp64Milli(timestamp) AS timestamp_ms,
    session_id,
    device_id
FROM events FINAL
PREWHERE (event_name, day, event_hash) IN (
    SELECT event_name, day, event_hash
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
)
WHERE workspace_id = {workspace:UUID}
    AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    AND ({any_user:Bool} OR user_id IN {identifiers:Array(String)} OR service_user_id IN {identifiers:Array(String)})
ORDER BY timestamp DESC, seq DESC, event_id DESC
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
