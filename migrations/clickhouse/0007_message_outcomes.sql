-- What became of each message of a campaign, one row a message once merged: what reports count.
--
-- `happened` holds a bit for each thing that did: 1 queued, 2 control, 4 sent, 8 delivered, 16 opened or
-- shown, 32 clicked, 64 and 128 opened and clicked by a machine, 256 complained, 512 unsubscribed,
-- 1024 bounced, 2048 failed, 4096 failed without anybody knowing whether it left, 8192 skipped,
-- 16384 cancelled. Times are milliseconds since 1970: the first of what happens once or counts from its
-- first time (the largest number: never), the last of what a retry may repeat (0: never). Telling of
-- something again changes nothing, so this needs no events to be unique. Tests, and messages of no
-- campaign, are left out.
--
-- Numbers and no text beside the key: rows of several parts are put together whenever they are read, and
-- that costs by the width of a row (measurements: analytics/README.md). So a variant is its cityHash64, 0
-- for none; a user is the 12 bytes of the internal id.
CREATE TABLE IF NOT EXISTS message_outcomes {on_cluster} (
    workspace_id UUID,
    campaign_id  UUID,
    user_id      FixedString(12),
    message_id   UUID,
    occurrence   SimpleAggregateFunction(max, UInt32),
    variant      SimpleAggregateFunction(max, UInt64),
    happened     SimpleAggregateFunction(groupBitOr, UInt32),
    first_at     SimpleAggregateFunction(min, Int64) CODEC(Delta(8), LZ4),
    queued_at    SimpleAggregateFunction(min, Int64) CODEC(Delta(8), LZ4),
    control_at   SimpleAggregateFunction(min, Int64) CODEC(Delta(8), LZ4),
    sent_at      SimpleAggregateFunction(min, Int64) CODEC(Delta(8), LZ4),
    delivered_at SimpleAggregateFunction(min, Int64) CODEC(Delta(8), LZ4),
    opened_at    SimpleAggregateFunction(min, Int64) CODEC(Delta(8), LZ4),
    clicked_at   SimpleAggregateFunction(min, Int64) CODEC(Delta(8), LZ4),
    bounced_at   SimpleAggregateFunction(max, Int64) CODEC(Delta(8), LZ4),
    failed_at    SimpleAggregateFunction(max, Int64) CODEC(Delta(8), LZ4),
    unknown_at   SimpleAggregateFunction(max, Int64) CODEC(Delta(8), LZ4),
    last_at      SimpleAggregateFunction(max, Int64) CODEC(Delta(8), LZ4)
) ENGINE = {engine:AggregatingMergeTree}
ORDER BY (workspace_id, campaign_id, user_id, message_id)
SETTINGS non_replicated_deduplication_window = 10000,
    fsync_after_insert = 1, fsync_part_directory = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS message_outcomes_from_events {on_cluster} TO message_outcomes AS
WITH
    toUnixTimestamp64Milli(timestamp) AS at,
    toInt64(9223372036854775807) AS never
SELECT
    workspace_id,
    campaign_id,
    toFixedString(substring(unhex(user_id), 1, 12), 12) AS user_id,
    message_id,
    occurrence,
    if(variant_id = '', 0, cityHash64(variant_id)) AS variant,
    toUInt32(multiIf(
        type = 'queued', 1,
        type = 'control', 2,
        type = 'sent', 4,
        type = 'delivered', 8,
        type IN ('opened', 'impression'), if(is_bot, 64, 16),
        type = 'clicked', if(is_bot, 128, 32),
        type = 'complained', 256,
        type = 'unsubscribed', 512,
        type = 'bounced', 1024,
        type = 'failed', if(code = 'unknown', 4096, 2048),
        type = 'skipped', 8192,
        type = 'cancelled', 16384,
        0)) AS happened,
    at AS first_at,
    if(happened = 1, at, never) AS queued_at,
    if(happened = 2, at, never) AS control_at,
    if(happened = 4, at, never) AS sent_at,
    if(happened = 8, at, never) AS delivered_at,
    if(happened = 16, at, never) AS opened_at,
    if(happened = 32, at, never) AS clicked_at,
    if(happened = 1024, at, 0) AS bounced_at,
    if(happened = 2048, at, 0) AS failed_at,
    if(happened = 4096, at, 0) AS unknown_at,
    at AS last_at
FROM message_events
WHERE NOT is_test AND campaign_id != toUUID('00000000-0000-0000-0000-000000000000');
