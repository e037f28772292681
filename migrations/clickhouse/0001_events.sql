-- Events as they were tracked, one row each once merged.
--
-- The key is what makes a repeat collapse: the workspace, the name, the key date and the id. It
-- holds no raw timestamp, because a repeat of an event that the server stamped has another one.
-- `day` is the event's own UTC day when the caller sent a timestamp, and the first of its month when
-- the server stamped an event that carries a clientEventId. A reader therefore finds an event of a
-- time range under a day of that range or under the first of the month in which the range begins.
--
-- The row with the largest `precedence` stays, which is the smallest `seq`: the first arrival.
-- Partitions are months of `day`, so all rows of one key lie in one partition and FINAL need not
-- look across them. Measurements behind each choice: analytics/README.md.
--
-- Parts are synced before an insert is answered (fsync_*), here and in every table a view fills: the
-- spool forgets what was answered, so the answer must mean that it is on disk.
CREATE TABLE IF NOT EXISTS events {on_cluster} (
    workspace_id    UUID,
    event_name      LowCardinality(String),
    day             Date,
    event_hash      UInt64 MATERIALIZED cityHash64(event_id) CODEC(NONE),
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
ORDER BY (workspace_id, event_name, day, event_hash)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000,
    fsync_after_insert = 1, fsync_part_directory = 1,
    -- One file a part while it is small: an insert syncs 4 files and not 40.
    min_bytes_for_wide_part = 268435456;
