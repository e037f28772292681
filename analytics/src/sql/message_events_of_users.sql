-- What happened to messages to a person, of all campaigns and of none? Newest first.
SELECT
    toString(message_id) AS message,
    campaign_id AS campaign_or_nil,
    toString(channel) AS channel,
    toString(type) AS kind,
    toUnixTimestamp64Milli(timestamp) AS at_ms,
    is_bot,
    is_test,
    url,
    toString(code) AS code,
    reason
FROM message_events FINAL
WHERE workspace_id = {workspace:UUID}
    AND user_id IN {users:Array(String)}
    AND at_ms BETWEEN {start_ms:Int64} AND {end_ms:Int64}
ORDER BY at_ms DESC, seq DESC
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
