-- Writes the entries of one day's events without a user by their anonymous ids.
INSERT INTO timeline (workspace_id, identifier, timestamp, event_name, day, event_id)
SELECT workspace_id, cityHash64(anonymous_id), timestamp, event_name, day, event_id
FROM events
WHERE day = {day:Date} AND user_id = '' AND service_user_id = '' AND anonymous_id != ''
