-- What happened to the messages of a campaign to one person? Oldest first.
SELECT
    toString(message_id) AS message,
    occurrence,
    toString(variant_id) AS variant,
    toString(channel) AS channel,
    toString(type) AS kind,
    toUnixTimestamp64Milli(timestamp) AS at_ms,
    is_bot,
    url,
    toString(label) AS label,
    toString(button_id) AS button,
    toString(code) AS code,
    reason
FROM message_events FINAL
WHERE workspace_id = {workspace:UUID}
    AND campaign_id = {campaign:UUID}
    AND user_id = {user:String}
    AND NOT is_test
ORDER BY at_ms, seq
LIMIT {events_max:UInt64}
