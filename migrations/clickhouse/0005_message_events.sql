-- What became of messages: a row each time something happened to one (queued, sent, delivered, opened,
-- clicked, bounced, …). Delivery writes it; audiences ask it who was sent, opened or clicked what.
--
-- The key says which thing happened to which message, so a repeat collapses whenever it comes; what may
-- happen to one message several times (opened, clicked) carries an `event_id` of its own each time. The
-- first arrival stays (`precedence`, the complement of `seq`). A message without a campaign has the nil
-- id. No partitions: a campaign's rows lie side by side whenever they came, which is how they are asked for.
CREATE TABLE IF NOT EXISTS message_events {on_cluster} (
    workspace_id UUID,
    campaign_id  UUID,
    type         LowCardinality(String),
    user_id      String,
    message_id   UUID,
    event_id     String,
    timestamp    DateTime64(3, 'UTC') CODEC(Delta(8), LZ4),
    occurrence   UInt32,
    variant_id   LowCardinality(String),
    channel      LowCardinality(String),
    -- Opened or clicked by a machine: a mail proxy, a link scanner.
    is_bot       Bool,
    -- Of a test send: in no report, in no audience.
    is_test      Bool,
    -- What was clicked; the code and the text of a failure.
    url          String CODEC(ZSTD(1)),
    code         LowCardinality(String),
    reason       String CODEC(ZSTD(1)),
    seq          UInt64 CODEC(Delta(8), LZ4),
    precedence   UInt64 MATERIALIZED bitNot(seq) CODEC(Delta(8), LZ4)
) ENGINE = {engine:ReplacingMergeTree}(precedence)
ORDER BY (workspace_id, campaign_id, type, user_id, message_id, event_id)
SETTINGS non_replicated_deduplication_window = 10000,
    fsync_after_insert = 1, fsync_part_directory = 1;
