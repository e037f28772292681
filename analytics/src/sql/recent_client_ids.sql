-- Which ids of callers did the server itself stamp with a time since then, newest first?
-- Such a row's key date is the first of its month; events of that very day come along, harmlessly.
SELECT workspace_id, toString(event_name) AS name, event_id, toUnixTimestamp64Milli(timestamp) AS timestamp_ms
FROM events FINAL
WHERE timestamp >= fromUnixTimestamp64Milli({since_ms:Int64}, 'UTC')
    AND day = toStartOfMonth(timestamp)
    AND day >= toStartOfMonth(fromUnixTimestamp64Milli({since_ms:Int64}, 'UTC'))
    AND toDayOfMonth(day) = 1
ORDER BY timestamp DESC
LIMIT {limit:UInt64}
