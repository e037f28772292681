-- Which entries of one identifier's timeline are the newest?
-- The identifier is an equality, so that the table is read backwards in the order of its key and no
-- further than needed. The number between dollars is the identifier's place: see events/list.rs.
SELECT timestamp, event_name, day, event_id
FROM timeline
WHERE workspace_id = {workspace:UUID}
    AND identifier = {identifier_$place$:UInt64}
    AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
    AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
    AND ({any_name:Bool} OR event_name = {event_name:String})
ORDER BY timestamp DESC
LIMIT {wanted:UInt64}
