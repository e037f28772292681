-- How many times was an in-app message of a campaign shown?
SELECT uniqExact(user_id, event_id) AS total
FROM message_events
WHERE workspace_id = {workspace:UUID}
    AND campaign_id = {campaign:UUID}
    AND type = 'impression'
    AND channel = 'in_app'
    AND NOT is_test
    AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
