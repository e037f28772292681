-- The way in by time: the keys of a workspace's events in time order, for the workspace (identifier
-- 0) and again for each user identifier (its cityHash64). The key of `events` has no time below the
-- day, so without this table the newest events could only be found by sorting all of them.
--
-- It may hold repeats, rows that lost against an earlier arrival, and a stranger whose hash is the
-- same: readers take candidates from here and let `events FINAL` decide. It never lacks a row that
-- `events` holds: both inserts of a batch carry its deduplication token.
CREATE TABLE IF NOT EXISTS timeline {on_cluster} (
    workspace_id UUID,
    identifier   UInt64,
    timestamp    DateTime64(3, 'UTC') CODEC(Delta(8), LZ4),
    event_name   LowCardinality(String),
    day          Date,
    event_hash   UInt64 CODEC(NONE)
) ENGINE = {engine:MergeTree}
PARTITION BY toYYYYMM(day)
ORDER BY (workspace_id, identifier, timestamp)
SETTINGS non_replicated_deduplication_window = 10000,
    fsync_after_insert = 1, fsync_part_directory = 1, min_bytes_for_wide_part = 268435456;

CREATE MATERIALIZED VIEW IF NOT EXISTS timeline_from_events {on_cluster} TO timeline AS
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
    cityHash64(event_id) AS event_hash
FROM events;
