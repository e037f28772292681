-- One row per order: the first `Order Completed` that named it, whatever came later.
--
-- An event without an orderId is an order of its own, under its event id. The two kinds of key
-- cannot meet: each begins with its kind. The row with the smallest `seq` stays.
CREATE TABLE IF NOT EXISTS orders {on_cluster} (
    workspace_id  UUID,
    order_key     String,
    event_hash    UInt64,
    seq           UInt64 CODEC(Delta(8), LZ4),
    precedence    UInt64 MATERIALIZED bitNot(seq) CODEC(Delta(8), LZ4),
    event_id      String,
    timestamp     DateTime64(3, 'UTC') CODEC(Delta(8), LZ4),
    has_revenue   UInt8,
    revenue       Decimal(18, 4),
    currency      LowCardinality(String),
    base_revenue  Decimal(18, 4),
    base_currency LowCardinality(String)
) ENGINE = {engine:ReplacingMergeTree}(precedence)
ORDER BY (workspace_id, order_key)
SETTINGS non_replicated_deduplication_window = 10000,
    fsync_after_insert = 1, fsync_part_directory = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS orders_from_events {on_cluster} TO orders AS
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
WHERE event_name = 'Order Completed';
