-- Parts that questions are quick to read. Measurements: analytics/README.md.
--
-- A part as it is inserted stays in one file, whatever its size, so that an insert syncs few files. What
-- merges write (and nothing syncs) keeps a file a column: a question about two columns reads twice as fast.
--
-- A month in which nothing arrived for half an hour becomes one part, in which FINAL has nothing to
-- do. Not sooner: the price is that a late event has its whole month written again.
ALTER TABLE events {on_cluster} MODIFY SETTING
    min_bytes_for_wide_part = 10485760, min_level_for_wide_part = 1,
    min_age_to_force_merge_seconds = 1800, min_age_to_force_merge_on_partition_only = 1;

ALTER TABLE orders {on_cluster} MODIFY SETTING
    min_age_to_force_merge_seconds = 1800, min_age_to_force_merge_on_partition_only = 1;

ALTER TABLE timeline {on_cluster} MODIFY SETTING
    min_bytes_for_wide_part = 10485760, min_level_for_wide_part = 1,
    min_age_to_force_merge_seconds = 1800, min_age_to_force_merge_on_partition_only = 1;
