-- The writer of an embedded ClickHouse stores each event and each order once, so that they are read without FINAL.
--
-- `is_unique`: the writer looked for earlier arrivals of the key before it stored the row, and wrote its entries of
-- `timeline` and `orders` itself. Of other rows (older ones, those of several writers, dead letters inserted again)
-- the views write them.
ALTER TABLE events {on_cluster} ADD COLUMN IF NOT EXISTS is_unique UInt8 DEFAULT 0;

ALTER TABLE timeline_entries_from_events {on_cluster} MODIFY QUERY
SELECT
    workspace_id,
    arrayJoin(multiIf(
        service_user_id = '' AND user_id = '', [toUInt64(0)],
        service_user_id = '' OR service_user_id = user_id, [toUInt64(0), cityHash64(user_id)],
        user_id = '', [toUInt64(0), cityHash64(service_user_id)],
        [toUInt64(0), cityHash64(user_id), cityHash64(service_user_id)])) AS identifier,
    timestamp,
    event_name,
    day,
    event_id
FROM events
WHERE NOT is_unique;

ALTER TABLE order_entries_from_events {on_cluster} MODIFY QUERY
SELECT
    workspace_id,
    if(order_id != '', concat('order:', order_id), concat('event:', event_id)) AS order_key,
    cityHash64(event_id) AS event_hash,
    seq,
    event_id,
    timestamp,
    has_revenue,
    revenue,
    currency,
    base_revenue,
    base_currency
FROM events
WHERE event_name = 'Order Completed'
    AND NOT (startsWith(event_id, 'sdk:') AND order_id = '' AND has_revenue = 0 AND base_revenue = 0)
    AND NOT is_unique;

-- What is known about repeats in the months of `events` (`toYYYYMM(day)`) and in `orders` (month 0): a row each time
-- something became known. Of a month the row of the largest `generation` counts, and of two of one generation the one
-- with `is_unique`. Of a month without rows, see analytics/src/repeats.
CREATE TABLE IF NOT EXISTS uniqueness {on_cluster} (
    month       UInt32,
    generation  UInt64,
    -- 1: no two rows have one key, as far as rows with `events.is_unique = 0` go up to `through_seq`. 0: there may be some.
    is_unique   UInt8,
    through_seq UInt64
) ENGINE = {engine:ReplacingMergeTree}
ORDER BY (month, generation, is_unique)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
