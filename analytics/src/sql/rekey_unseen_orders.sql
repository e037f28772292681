-- Makes the entries of orders for one part of the events: what the view order_entries_from_events makes.
-- What stands between dollars is what that view selects: see migrate/rekey.rs.
INSERT INTO orders (
    workspace_id, order_key, event_hash, seq, event_id, timestamp, has_revenue, revenue, currency, base_revenue, base_currency
)
$view$
    AND _part = {part:String}
