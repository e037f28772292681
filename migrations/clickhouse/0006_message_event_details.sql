-- What reports break message events down by, beside campaign, variant and channel: a link's label (of a bounce
-- `hard` or `soft`), and of apps the platform, the app and the button.
ALTER TABLE message_events {on_cluster}
    ADD COLUMN IF NOT EXISTS label LowCardinality(String) AFTER url,
    ADD COLUMN IF NOT EXISTS platform LowCardinality(String) AFTER reason,
    ADD COLUMN IF NOT EXISTS app_id LowCardinality(String) AFTER platform,
    ADD COLUMN IF NOT EXISTS button_id LowCardinality(String) AFTER app_id;
