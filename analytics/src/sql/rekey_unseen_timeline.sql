-- Makes the timeline's entries for one part of the events: what the view timeline_entries_from_events makes.
-- What stands between dollars is what that view selects: see migrate/rekey.rs.
INSERT INTO timeline (workspace_id, identifier, timestamp, event_name, day, event_id)
$view$
WHERE _part = {part:String}
