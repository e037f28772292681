-- Takes the events of the people out of the counts by day. A sum of these numbers wraps around.
INSERT INTO event_days (workspace_id, day, event_name, events, newest)
SELECT workspace_id, toDate(timestamp), event_name, CAST(-toInt64(count()) AS UInt64), toDateTime64(0, 3, 'UTC')
FROM events FINAL
WHERE $theirs$
GROUP BY workspace_id, toDate(timestamp), event_name
