-- Which profile an identifier belongs to, as PostgreSQL has it: a copy that is a second behind at most. Of rows with one
-- key the largest `version` counts. `type` is 'anonymous', 'alias', 'external' or 'internal'; an active profile's own
-- ids are not here. `user_id` is the internal id, as in `events.service_user_id`.
CREATE TABLE IF NOT EXISTS identities {on_cluster} (
    workspace_id UUID,
    type         LowCardinality(String),
    id           String,
    user_id      String,
    version      UInt64
) ENGINE = {engine:ReplacingMergeTree}(version)
ORDER BY (workspace_id, type, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- An event without a user is listed by its anonymous id as well, so that it is found once that is linked to a profile.
ALTER TABLE timeline_entries_from_events {on_cluster} MODIFY QUERY
SELECT
    workspace_id,
    arrayJoin(multiIf(
        service_user_id = '' AND user_id = '' AND anonymous_id = '', [toUInt64(0)],
        service_user_id = '' AND user_id = '', [toUInt64(0), cityHash64(anonymous_id)],
        service_user_id = '' OR service_user_id = user_id, [toUInt64(0), cityHash64(user_id)],
        user_id = '', [toUInt64(0), cityHash64(service_user_id)],
        [toUInt64(0), cityHash64(user_id), cityHash64(service_user_id)])) AS identifier,
    timestamp,
    event_name,
    day,
    event_id
FROM events
WHERE NOT is_unique;
