-- Which events does a workspace have, how many of each in the last 30 days, and when was the newest? Those dated later than today
-- have not happened yet; one dated later today is the newest as of now.
SELECT
    event_name,
    sumIf(events, day > toDate(now('UTC')) - 30) AS recent,
    least(max(newest), now64(3, 'UTC')) AS newest_at
FROM event_days
WHERE workspace_id = {workspace:UUID} AND day <= toDate(now('UTC'))
GROUP BY event_name
ORDER BY recent DESC, event_name
LIMIT {limit:UInt64}
