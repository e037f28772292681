-- Why did these messages not arrive?
SELECT toString(message_id) AS message, toString(type) AS kind, toString(code) AS code, reason
FROM message_events FINAL
WHERE workspace_id = {workspace:UUID}
    AND campaign_id = {campaign:UUID}
    AND type IN ('bounced', 'failed', 'skipped')
    AND user_id IN {users:Array(String)}
    AND NOT is_test
