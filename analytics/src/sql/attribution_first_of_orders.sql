-- Is this event the first that named its order? Of orders whose first event lies in the time.
AND (event_id, seq) IN (
            SELECT event_id, seq
            FROM orders FINAL
            WHERE workspace_id = {workspace:UUID}
                AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
                AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
