-- Copies one part of the old table into the new one, whose views see it.
INSERT INTO events (
    workspace_id, event_name, day, timestamp, seq, user_id, anonymous_id, service_user_id, alias_label, alias_name,
    event_id, session_id, device_id, received_at, properties, numbers, order_id, revenue, currency, base_revenue,
    base_currency, has_revenue
)
SELECT
    workspace_id, event_name, day, timestamp, seq, user_id, anonymous_id, service_user_id, alias_label, alias_name,
    event_id, session_id, device_id, received_at, properties, numbers, order_id, revenue, currency, base_revenue,
    base_currency, has_revenue
FROM events_before_0010
WHERE _part = {part:String}
