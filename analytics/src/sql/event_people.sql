-- Under which identifiers was an event of one name tracked, and how often under each?
-- Both identifiers are one text, the service's own first: grouping by one text takes half the time that
-- grouping by two takes. No identifier holds the character between them.
-- Events without a user count where their anonymous id is linked to a profile; it comes after two such characters.
-- What stands between dollars is fixed fragments, one a property filter: see events/people.rs.
SELECT
    multiIf(
        service_user_id != '', concat(service_user_id, '\0', user_id),
        user_id != '', user_id,
        concat('\0\0', anonymous_id)) AS identifiers,
    count() AS times
FROM events FINAL
WHERE workspace_id = {workspace:UUID}
    AND event_name = {event_name:String}
    AND (user_id != '' OR service_user_id != '' OR anonymous_id IN (
        SELECT id FROM identities WHERE workspace_id = {workspace:UUID} AND type = 'anonymous'))
    AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
        OR day = toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')))
    AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
    AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    $and$
GROUP BY identifiers
LIMIT {people_max:UInt64}
