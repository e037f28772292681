-- Is this event of a range the first that named its order? An order has the time of its first event, so orders of other
-- times need not be looked at.
(event_id, seq) IN (
            SELECT event_id, seq
            FROM orders FINAL
            WHERE workspace_id = {workspace:UUID}
                AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
                AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
