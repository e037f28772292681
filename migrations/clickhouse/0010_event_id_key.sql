-- The key of `events` ends in the caller's id itself, and the timeline names events by it. It was the id's
-- cityHash64, for which another id with the same hash is found in milliseconds: of two events with ids
-- chosen so, only one was kept.
--
-- The tables are made under other names and filled; then they take the places of the old ones
-- (analytics/src/migrate/rekey). Everything else is as in 0001, 0003 and 0004. `event_hash` is computed
-- when it is read, for programs of the version before, which still ask for it.
CREATE TABLE IF NOT EXISTS events_0010 {on_cluster} (
    workspace_id    UUID,
    event_name      LowCardinality(String),
    day             Date,
    event_hash      UInt64 ALIAS cityHash64(event_id),
    timestamp       DateTime64(3, 'UTC') CODEC(Delta(8), LZ4),
    seq             UInt64 CODEC(Delta(8), LZ4),
    precedence      UInt64 MATERIALIZED bitNot(seq) CODEC(Delta(8), LZ4),
    user_id         String,
    anonymous_id    String,
    service_user_id String,
    alias_label     LowCardinality(String),
    alias_name      String,
    event_id        String,
    session_id      String,
    device_id       String,
    received_at     DateTime64(3, 'UTC') CODEC(Delta(8), LZ4),
    properties      String CODEC(ZSTD(1)),
    numbers         Map(String, Float64),
    order_id        String,
    revenue         Decimal(18, 4),
    currency        LowCardinality(String),
    base_revenue    Decimal(18, 4),
    base_currency   LowCardinality(String),
    has_revenue     UInt8
) ENGINE = {engine:ReplacingMergeTree}(precedence)
PARTITION BY toYYYYMM(day)
ORDER BY (workspace_id, event_name, day, event_id)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000,
    fsync_after_insert = 1, fsync_part_directory = 1,
    min_bytes_for_wide_part = 10485760, min_level_for_wide_part = 1,
    min_age_to_force_merge_seconds = 1800, min_age_to_force_merge_on_partition_only = 1;

-- `identifier` is still a hash: it only finds candidates, and readers compare the identifiers themselves
-- in `events`.
CREATE TABLE IF NOT EXISTS timeline_0010 {on_cluster} (
    workspace_id UUID,
    identifier   UInt64,
    timestamp    DateTime64(3, 'UTC') CODEC(Delta(8), LZ4),
    event_name   LowCardinality(String),
    day          Date,
    event_id     String CODEC(ZSTD(1)),
    event_hash   UInt64 ALIAS cityHash64(event_id)
) ENGINE = {engine:MergeTree}
PARTITION BY toYYYYMM(day)
ORDER BY (workspace_id, identifier, timestamp)
SETTINGS non_replicated_deduplication_window = 10000,
    fsync_after_insert = 1, fsync_part_directory = 1,
    min_bytes_for_wide_part = 10485760, min_level_for_wide_part = 1,
    min_age_to_force_merge_seconds = 1800, min_age_to_force_merge_on_partition_only = 1;

-- Both are made once the new tables are in place: a view does not follow a table through a rename before the
-- server starts again. The views of 0002 and 0003 are dropped before.
CREATE MATERIALIZED VIEW IF NOT EXISTS timeline_entries_from_events {on_cluster} TO timeline AS
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
FROM events;

CREATE MATERIALIZED VIEW IF NOT EXISTS order_entries_from_events {on_cluster} TO orders AS
SELECT
    workspace_id,
    if(order_id != '', concat('order:', order_id), concat('event:', event_id)) AS order_key,
    cityHash64(event_id) AS event_hash,
    seq,
    event_id,
    timestamp,
    has_revenue,
    revenue,
    currency,
    base_revenue,
    base_currency
FROM events
WHERE event_name = 'Order Completed';
