-- Events that were stored before migration 13 are listed by their anonymous ids, too, day by day
-- (analytics/src/migrate/anonymous). Here is which days are done.
CREATE TABLE IF NOT EXISTS timeline_anonymous_days {on_cluster} (
    day Date
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY day
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
