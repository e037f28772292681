CREATE OR REPLACE VIEW $views$.message_events $on_cluster$ (
    message_id UUID COMMENT 'Id of the message',
    campaign_id Nullable(UUID) COMMENT 'Its campaign; null for a message without one',
    person_id String COMMENT 'The profile it is for',
    type LowCardinality(String) COMMENT 'queued, sent, delivered, opened, clicked, bounced, failed, …',
    timestamp DateTime64(3, 'UTC') COMMENT 'When it happened',
    url String COMMENT 'What was clicked',
    code LowCardinality(String) COMMENT 'Code of a failure, of a skip or of a bounce',
    reason String COMMENT 'Text of a failure',
    is_bot Bool COMMENT 'Opened or clicked by a machine'
)
DEFINER = $definer$ SQL SECURITY DEFINER
AS SELECT
    m.message_id AS message_id,
    nullIf(m.campaign_id, toUUID('00000000-0000-0000-0000-000000000000')) AS campaign_id,
    ifNull(if(merged.person != '', merged.person, m.user_id), '') AS person_id,
    m.type AS type,
    m.timestamp AS timestamp,
    m.url AS url,
    m.code AS code,
    m.reason AS reason,
    m.is_bot AS is_bot
FROM $tables$.message_events AS m FINAL
$merged$
WHERE m.workspace_id = $workspace$ AND NOT m.is_test
COMMENT 'What happened to messages, one row each time; without tests'
