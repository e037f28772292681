-- Makes the timeline's entries for one part of the events: what the view timeline_entries_from_events makes.
INSERT INTO timeline (workspace_id, identifier, timestamp, event_name, day, event_id)
SELECT
    workspace_id,
    arrayJoin(multiIf(
        service_user_id = '' AND user_id = '', [toUInt64(0)],
        service_user_id = '' OR service_user_id = user_id, [toUInt64(0), cityHash64(user_id)],
        user_id = '', [toUInt64(0), cityHash64(service_user_id)],
        [toUInt64(0), cityHash64(user_id), cityHash64(service_user_id)])) AS identifier,
    timestamp,
    event_name,
    day,
    event_id
FROM events
WHERE _part = {part:String}
