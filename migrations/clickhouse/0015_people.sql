-- Profiles as PostgreSQL has them: a copy that is a second behind at most. Of rows with one key the largest `version`
-- counts. `user_id` is the 12 bytes of the internal id, as in `message_outcomes`. A deleted or merged profile has a row
-- with `is_deleted` and nothing else. `numbers` and `texts` hold the attributes of these types at the top level, and
-- `attributes` all of them as JSON. `consent` has a channel's state by its name.
CREATE TABLE IF NOT EXISTS people {on_cluster} (
    workspace_id  UUID,
    user_id       FixedString(12),
    version       UInt64,
    is_deleted    UInt8,
    external_id   String,
    email         String,
    phone         String,
    anonymous_ids Array(String),
    attributes    String CODEC(ZSTD(1)),
    numbers       Map(String, Float64),
    texts         Map(String, String),
    created_at    DateTime64(3, 'UTC'),
    updated_at    DateTime64(3, 'UTC'),
    consent       Map(String, String),
    lists         Array(UUID)
) ENGINE = {engine:ReplacingMergeTree}(version)
ORDER BY (workspace_id, user_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    min_age_to_force_merge_seconds = 300, min_age_to_force_merge_on_partition_only = 1;

-- Names and states of campaigns, copied in the same way.
CREATE TABLE IF NOT EXISTS campaigns {on_cluster} (
    workspace_id UUID,
    campaign_id  UUID,
    version      UInt64,
    is_deleted   UInt8,
    name         String,
    channel      LowCardinality(String),
    send_type    LowCardinality(String),
    status       LowCardinality(String),
    created_at   DateTime64(3, 'UTC')
) ENGINE = {engine:ReplacingMergeTree}(version)
ORDER BY (workspace_id, campaign_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
