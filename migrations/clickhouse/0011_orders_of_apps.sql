-- An `Order Completed` that an app sent with a public key, under a name that is not trusted, is no order: of such
-- an event nothing about money is taken out of its properties, and its id begins with `sdk:`.
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
    AND NOT (startsWith(event_id, 'sdk:') AND order_id = '' AND has_revenue = 0 AND base_revenue = 0);
