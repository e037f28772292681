-- Makes the timeline's entries for a day of events: what the view timeline_entries_from_events makes of an insert.
-- What stands between dollars is what that view selects: see migrate/rekey.rs.
INSERT INTO timeline_0010 (workspace_id, identifier, timestamp, event_name, day, event_id)
$view$
WHERE day = {day:Date}
