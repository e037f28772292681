-- How often did people see an in-app message of a campaign, click in it and close it, by the number of times
-- each of them saw it? Every showing counts once, however often it was reported.
SELECT
    least(seen, {tail:UInt64}) AS displays,
    count() AS users,
    sum(seen) AS impressions,
    max(seen) AS impressions_max,
    sum(clicked) AS clicks,
    countIf(clicked > 0) AS clickers,
    sum(closed) AS dismissals
FROM (
    SELECT
        user_id,
        uniqExactIf(event_id, type = 'impression') AS seen,
        uniqExactIf(event_id, type = 'clicked') AS clicked,
        uniqExactIf(event_id, type = 'dismissed') AS closed
    FROM message_events
    WHERE workspace_id = {workspace:UUID}
        AND campaign_id = {campaign:UUID}
        AND type IN ('impression', 'clicked', 'dismissed')
        AND channel = 'in_app'
        AND NOT is_test
    GROUP BY user_id
)
GROUP BY displays
ORDER BY displays
