-- The orders among the events that stay without their person, those that counted before.
INSERT INTO orders
    (workspace_id, order_key, event_hash, seq, event_id, timestamp, has_revenue, revenue, currency, base_revenue, base_currency)
SELECT workspace_id, concat('event:', new_id), cityHash64(new_id), seq, new_id, timestamp, has_revenue, revenue, currency,
    base_revenue, base_currency
FROM (
    SELECT *, $anonymized_id$ AS new_id
    FROM orders FINAL
    WHERE workspace_id = {workspace:UUID} AND (event_id, seq) IN (
        SELECT event_id, seq FROM events FINAL WHERE event_name = 'Order Completed' AND $theirs$
    )
)
