-- Messages, one row each. The rules are those of reports (analytics/src/sql/message_final.sql). What became of messages
-- of campaigns is in message_outcomes; of those of no campaign it is put together here, from what happened to them.
CREATE OR REPLACE VIEW $views$.messages $on_cluster$ (
    message_id UUID COMMENT 'Id of the message',
    campaign_id Nullable(UUID) COMMENT 'Its campaign; null for a message without one',
    person_id String COMMENT 'The profile it is for',
    channel LowCardinality(String) COMMENT 'email, sms, whatsapp, push, viber, webhook or in_app',
    variant_id LowCardinality(String) COMMENT 'Variant of the campaign; empty where there is none',
    occurrence UInt32 COMMENT 'Which sending of a recurring campaign, or entry of a triggered one',
    status LowCardinality(String) COMMENT 'How far it got: queued, sent, delivered, opened, clicked, bounced, failed, skipped, cancelled or control',
    queued_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Times are null where it did not happen',
    sent_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it left, as far as anybody reports; null where it failed afterwards and was not opened',
    delivered_at Nullable(DateTime64(3, 'UTC')) COMMENT 'First report that it was delivered; null where it bounced afterwards',
    opened_at Nullable(DateTime64(3, 'UTC')) COMMENT 'First open by a person; a click is one',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'First click by a person',
    bounced_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last bounce',
    failed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last failure, or when its outcome became unknown'
)
DEFINER = $definer$ SQL SECURITY DEFINER
AS WITH
    toInt64(9223372036854775807) AS never,
    toUUID('00000000-0000-0000-0000-000000000000') AS none
SELECT
    m.message_id AS message_id,
    nullIf(m.campaign_id, none) AS campaign_id,
    ifNull(if(merged.person != '', merged.person, m.user_id), '') AS person_id,
    ifNull(m.channel, '') AS channel,
    ifNull(m.variant_id, '') AS variant_id,
    toUInt32(ifNull(m.occurrence, 0)) AS occurrence,
    multiIf(
        m.is_clicked, 'clicked',
        m.is_opened, 'opened',
        m.class != 1 AND m.is_bounced, 'bounced',
        m.class = 3, 'failed',
        m.is_delivered, 'delivered',
        m.class = 2, 'sent',
        m.class = 4, 'skipped',
        m.class = 5, 'cancelled',
        m.class = 1, 'control',
        'queued') AS status,
    if(m.queued < never, fromUnixTimestamp64Milli(m.queued, 'UTC'), NULL) AS queued_at,
    if(m.class = 2 AND m.left_at < never, fromUnixTimestamp64Milli(m.left_at, 'UTC'), NULL) AS sent_at,
    if(m.is_delivered, fromUnixTimestamp64Milli(least(m.delivered, m.seen), 'UTC'), NULL) AS delivered_at,
    if(m.is_opened, fromUnixTimestamp64Milli(m.seen, 'UTC'), NULL) AS opened_at,
    if(m.is_clicked, fromUnixTimestamp64Milli(m.clicked, 'UTC'), NULL) AS clicked_at,
    if(m.bounced > 0, fromUnixTimestamp64Milli(m.bounced, 'UTC'), NULL) AS bounced_at,
    if(m.failed > 0, fromUnixTimestamp64Milli(m.failed, 'UTC'), NULL) AS failed_at
FROM (
    SELECT
        *,
        least(opened, clicked) AS seen,
        least(sent, delivered, opened, clicked) AS reported,
        multiIf(
            reported < never, reported,
            bitAnd(happened, 1280) != 0 AND bitAnd(happened, 6144) = 0, last,
            never) AS left_at,
        multiIf(
            left_at < never AND (seen < never OR failure < left_at), 2,
            left_at < never, 3,
            bitAnd(happened, 2) != 0, 1,
            bitAnd(happened, 6144) != 0, 3,
            bitAnd(happened, 8192) != 0, 4,
            bitAnd(happened, 16384) != 0, 5,
            6) AS class,
        bitAnd(happened, 1024) != 0 AND (left_at = never OR bounced >= left_at) AS is_bounced,
        class = 2 AND (seen < never OR delivered < never AND NOT is_bounced) AS is_delivered,
        class = 2 AND seen < never AS is_opened,
        class = 2 AND clicked < never AS is_clicked
    FROM (
        SELECT
            o.message_id AS message_id,
            o.campaign_id AS campaign_id,
            lower(hex(o.user_id)) AS user_id,
            named.channel AS channel,
            named.variant_id AS variant_id,
            o.occurrence AS occurrence,
            o.happened AS happened,
            o.queued_at AS queued,
            o.sent_at AS sent,
            o.delivered_at AS delivered,
            o.opened_at AS opened,
            o.clicked_at AS clicked,
            o.bounced_at AS bounced,
            o.failed_at AS failure,
            greatest(o.failed_at, o.unknown_at) AS failed,
            o.last_at AS last
        FROM $tables$.message_outcomes AS o FINAL
        LEFT ANY JOIN (
            SELECT
                v.campaign_id AS campaign_id,
                if(v.variant_id = '', 0, cityHash64(v.variant_id)) AS variant,
                any(v.variant_id) AS variant_id,
                any(v.channel) AS channel
            FROM $tables$.message_events AS v
            WHERE v.workspace_id = $workspace$ AND v.campaign_id != none AND NOT v.is_test
            GROUP BY campaign_id, variant
        ) AS named ON named.campaign_id = o.campaign_id AND named.variant = o.variant
        WHERE o.workspace_id = $workspace$
        UNION ALL
        SELECT
            t.message_id AS message_id,
            none AS campaign_id,
            any(t.user_id) AS user_id,
            any(t.channel) AS channel,
            any(t.variant_id) AS variant_id,
            max(t.occurrence) AS occurrence,
            groupBitOr(toUInt32(multiIf(
                t.type = 'queued', 1,
                t.type = 'control', 2,
                t.type = 'sent', 4,
                t.type = 'delivered', 8,
                t.type IN ('opened', 'impression'), if(t.is_bot, 64, 16),
                t.type = 'clicked', if(t.is_bot, 128, 32),
                t.type = 'complained', 256,
                t.type = 'unsubscribed', 512,
                t.type = 'bounced', 1024,
                t.type = 'failed', if(t.code = 'unknown', 4096, 2048),
                t.type = 'skipped', 8192,
                t.type = 'cancelled', 16384,
                0))) AS happened,
            min(if(t.type = 'queued', toUnixTimestamp64Milli(t.timestamp), never)) AS queued,
            min(if(t.type = 'sent', toUnixTimestamp64Milli(t.timestamp), never)) AS sent,
            min(if(t.type = 'delivered', toUnixTimestamp64Milli(t.timestamp), never)) AS delivered,
            min(if(t.type IN ('opened', 'impression') AND NOT t.is_bot, toUnixTimestamp64Milli(t.timestamp), never)) AS opened,
            min(if(t.type = 'clicked' AND NOT t.is_bot, toUnixTimestamp64Milli(t.timestamp), never)) AS clicked,
            max(if(t.type = 'bounced', toUnixTimestamp64Milli(t.timestamp), 0)) AS bounced,
            max(if(t.type = 'failed' AND t.code != 'unknown', toUnixTimestamp64Milli(t.timestamp), 0)) AS failure,
            max(if(t.type = 'failed', toUnixTimestamp64Milli(t.timestamp), 0)) AS failed,
            max(toUnixTimestamp64Milli(t.timestamp)) AS last
        FROM $tables$.message_events AS t
        WHERE t.workspace_id = $workspace$ AND t.campaign_id = none AND NOT t.is_test
        GROUP BY t.message_id
    )
) AS m
$merged$
COMMENT 'Messages, one row each: what became of it and when; without tests'
