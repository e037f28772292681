-- On which platforms was an in-app message of a campaign shown and clicked, and which of its buttons?
SELECT
    platform,
    button_id AS button,
    uniqExactIf((user_id, event_id), type = 'impression') AS impressions,
    uniqExactIf((user_id, event_id), type = 'clicked') AS clicks
FROM message_events
WHERE workspace_id = {workspace:UUID}
    AND campaign_id = {campaign:UUID}
    AND type IN ('impression', 'clicked')
    AND channel = 'in_app'
    AND NOT is_test
GROUP BY platform, button
ORDER BY platform, button
LIMIT {places_max:UInt64}
