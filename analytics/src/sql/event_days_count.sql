-- Counts the events of one key day. In an order, so that ClickHouse finds out that it has this day already.
INSERT INTO event_days (workspace_id, day, event_name, events, newest)
SELECT workspace_id, toDate(timestamp) AS happened, event_name, count(), max(timestamp)
FROM events FINAL
WHERE day = {day:Date}
GROUP BY workspace_id, happened, event_name
ORDER BY workspace_id, happened, event_name
