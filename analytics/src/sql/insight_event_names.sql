-- Which events does a workspace have, how many of each in the last 30 days, and when was the newest?
SELECT event_name, sumIf(events, day > toDate(now('UTC')) - 30) AS recent, max(newest) AS newest_at
FROM event_days
WHERE workspace_id = {workspace:UUID}
GROUP BY event_name
ORDER BY recent DESC, event_name
LIMIT {limit:UInt64}
