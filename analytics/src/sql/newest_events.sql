-- Which events of a workspace, or of one person, are the newest, and how many entries of the timeline are among them?
-- One row. What stands between dollars is newest_entries.sql, once for each identifier. Of events
-- as old as the oldest entry some may be missing, so those are left out unless the entries are all there are.
WITH (
    SELECT groupArray((timestamp, event_name, day, event_id))
    FROM (
        SELECT timestamp, event_name, day, event_id
        FROM ($entries$)
        ORDER BY timestamp DESC
        LIMIT {wanted:UInt64}
    )
) AS entries
SELECT
    toUInt64(length(entries)) AS looked_at,
    groupArray((event_id, tracked_user_id, anonymous_id, name, properties, timestamp_ms, session_id, device_id)) AS found
FROM (
    SELECT
        event_id,
        if(user_id != '', user_id, service_user_id) AS tracked_user_id,
        anonymous_id,
        toString(event_name) AS name,
        properties,
        toUnixTimestamp64Milli(timestamp) AS timestamp_ms,
        session_id,
        device_id
    FROM events FINAL
    PREWHERE (event_name, day, event_id) IN (
        SELECT entry.2, entry.3, entry.4 FROM (SELECT arrayJoin(entries) AS entry)
    )
    WHERE workspace_id = {workspace:UUID}
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
        AND (length(entries) < {wanted:UInt64} OR timestamp > arrayMin(entry -> entry.1, entries))
        AND ({any_user:Bool} OR user_id IN {identifiers:Array(String)} OR service_user_id IN {identifiers:Array(String)}
            OR user_id = '' AND service_user_id = '' AND anonymous_id IN {anonymous:Array(String)})
    ORDER BY timestamp DESC, seq DESC, event_id DESC
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
)
