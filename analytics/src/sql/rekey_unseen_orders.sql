-- Makes the entries of orders for one part of the events: what the view order_entries_from_events makes.
INSERT INTO orders (
    workspace_id, order_key, event_hash, seq, event_id, timestamp, has_revenue, revenue, currency, base_revenue, base_currency
)
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
WHERE event_name = 'Order Completed' AND _part = {part:String}
