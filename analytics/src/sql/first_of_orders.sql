-- Is this event the first that named its order?
(event_hash, seq) IN (SELECT event_hash, seq FROM orders FINAL WHERE workspace_id = {workspace:UUID})
