-- Lists the events that stay without their person.
INSERT INTO timeline (workspace_id, identifier, timestamp, event_name, day, event_id)
SELECT workspace_id, arrayJoin([toUInt64(0), cityHash64($subject$)]), timestamp, event_name, day, $anonymized_id$
FROM events FINAL
WHERE $theirs$
