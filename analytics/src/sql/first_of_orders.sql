-- Is this event the first that named its order?
(event_id, seq) IN (SELECT event_id, seq FROM orders FINAL WHERE workspace_id = {workspace:UUID})
