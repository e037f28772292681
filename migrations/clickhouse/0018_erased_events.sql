-- Hashes of the keys of erased events, so that late repeats of them are not stored.
CREATE TABLE IF NOT EXISTS erased_events {on_cluster} (
    key_hash FixedString(16)
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY key_hash
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
