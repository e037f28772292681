-- The event of each order, for its identifiers. Part of other statements.
LEFT ANY JOIN (
    SELECT seq, event_id, user_id, service_user_id, alias_name, anonymous_id
    FROM $tables$.events
    WHERE workspace_id = $workspace$ AND event_name = 'Order Completed'
) AS e ON e.seq = o.seq AND e.event_id = o.event_id
