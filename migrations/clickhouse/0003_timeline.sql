-- The way in by time: for a workspace (identifier '') and for each user identifier, the keys of
-- its events in time order. The key of `events` has no time below the day, so without this table
-- the newest events could only be found by sorting.
--
-- It may hold repeats and rows that lost against an earlier arrival: readers take candidates from
-- here and let `events FINAL` decide. It never lacks a row that `events` holds.
CREATE TABLE IF NOT EXISTS timeline {on_cluster} (
    workspace_id UUID,
    identifier   String,
    timestamp    DateTime64(3, 'UTC') CODEC(Delta(8), LZ4),
    event_name   LowCardinality(String),
    day          Date,
    event_hash   UInt64 CODEC(NONE)
) ENGINE = {engine:ReplacingMergeTree}
PARTITION BY toYYYYMM(day)
ORDER BY (workspace_id, identifier, timestamp, event_name, day, event_hash)
PRIMARY KEY (workspace_id, identifier, timestamp)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS timeline_from_events {on_cluster} TO timeline AS
SELECT
    workspace_id,
    arrayJoin(multiIf(
        service_user_id = '' AND user_id = '', [''],
        service_user_id = '' OR service_user_id = user_id, ['', user_id],
        user_id = '', ['', service_user_id],
        ['', user_id, service_user_id])) AS identifier,
    timestamp,
    event_name,
    day,
    cityHash64(event_id) AS event_hash
FROM events;
