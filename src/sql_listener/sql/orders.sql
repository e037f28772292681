-- Orders, the first event of each. $person$, $resolved$ and $people$ as in events.sql.
CREATE OR REPLACE VIEW $views$.orders $on_cluster$ (
    order_id String COMMENT 'orderId of the properties; empty for an order without one',
    event_id String COMMENT 'The first event of the order: events.event_id',
    $person$
    timestamp DateTime64(3, 'UTC') COMMENT 'When it was placed',
    revenue Nullable(Decimal(18, 4)) COMMENT 'Amount in its own currency; null where it was no number',
    currency LowCardinality(String) COMMENT 'Its own currency; empty where it was not named',
    base_revenue Nullable(Decimal(18, 4)) COMMENT 'Amount in the base currency; null where it was not sent',
    base_currency LowCardinality(String) COMMENT 'Base currency; empty where it was not named'
)
DEFINER = $definer$ SQL SECURITY DEFINER
AS SELECT
    if(startsWith(o.order_key, 'order:'), substring(o.order_key, 7), '') AS order_id,
    o.event_id AS event_id,
    $resolved$
    o.timestamp AS timestamp,
    if(o.has_revenue, o.revenue, NULL) AS revenue,
    o.currency AS currency,
    if(o.base_currency = '', NULL, o.base_revenue) AS base_revenue,
    o.base_currency AS base_currency
FROM $tables$.orders AS o
$people$
WHERE o.workspace_id = $workspace$
COMMENT 'Orders, one row each: the first event that named it'
