-- Is every event of one name stored once, so that no row of it may be one that `FINAL` leaves out? Days and not
-- moments: a repeat has the day of the first, and may have another moment, other properties, another person.
SELECT toUInt8(count() = uniqExact(event_id)) AS is_so
FROM events
WHERE workspace_id = {workspace:UUID}
    AND event_name = {event_name:String}
    AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
    AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
