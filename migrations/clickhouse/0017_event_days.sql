-- How many events of a name there are on a day, and when the newest happened, for those who explore: counted as they are
-- stored. Where several processes write, an event that was sent twice may count twice. What is stored already is counted
-- by the migration's second part.
CREATE TABLE IF NOT EXISTS event_days {on_cluster} (
    workspace_id UUID,
    day          Date,
    event_name   LowCardinality(String),
    events       SimpleAggregateFunction(sum, UInt64),
    newest       SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
) ENGINE = {engine:AggregatingMergeTree}
ORDER BY (workspace_id, day, event_name)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS event_days_from_events {on_cluster} TO event_days AS
SELECT workspace_id, toDate(timestamp) AS day, event_name, count() AS events, max(timestamp) AS newest
FROM events
GROUP BY workspace_id, day, event_name;
