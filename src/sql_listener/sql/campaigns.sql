CREATE OR REPLACE VIEW $views$.campaigns $on_cluster$ (
    campaign_id UUID COMMENT 'Id of the campaign',
    name String COMMENT 'Its name',
    channel LowCardinality(String) COMMENT 'email, sms, whatsapp, push, viber, webhook or in_app',
    send_type LowCardinality(String) COMMENT 'How it is sent: scheduled, recurring, triggered, …',
    status LowCardinality(String) COMMENT 'Its state',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was created'
)
DEFINER = $definer$ SQL SECURITY DEFINER
AS SELECT
    c.campaign_id AS campaign_id,
    c.name AS name,
    c.channel AS channel,
    c.send_type AS send_type,
    c.status AS status,
    c.created_at AS created_at
FROM $tables$.campaigns AS c FINAL
WHERE c.workspace_id = $workspace$ AND NOT c.is_deleted
COMMENT 'Campaigns that are not deleted, a second behind at most'
