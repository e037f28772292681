-- Copies a day of events as they are stored, repeats included.
INSERT INTO events_0010 (
    workspace_id, event_name, day, timestamp, seq, user_id, anonymous_id, service_user_id, alias_label, alias_name,
    event_id, session_id, device_id, received_at, properties, numbers, order_id, revenue, currency, base_revenue,
    base_currency, has_revenue
)
SELECT
    workspace_id, event_name, day, timestamp, seq, user_id, anonymous_id, service_user_id, alias_label, alias_name,
    event_id, session_id, device_id, received_at, properties, numbers, order_id, revenue, currency, base_revenue,
    base_currency, has_revenue
FROM events
WHERE day = {day:Date}
