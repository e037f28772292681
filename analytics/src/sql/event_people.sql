-- Under which identifiers was an event of one name tracked, and how often under each?
-- Both identifiers are one text, the service's own first: grouping by one text takes half the time that
-- grouping by two takes. No identifier holds the character between them.
-- What stands between dollars is fixed fragments, one a property filter: see events/people.rs.
SELECT
    if(service_user_id = '', user_id, concat(service_user_id, '\0', user_id)) AS identifiers,
    count() AS times
FROM events FINAL
WHERE workspace_id = {workspace:UUID}
    AND event_name = {event_name:String}
    AND (user_id != '' OR service_user_id != '')
    AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
    AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
    AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')) OR toDayOfMonth(day) = 1)
    AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    $and$
GROUP BY identifiers
LIMIT {people_max:UInt64}
