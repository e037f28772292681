-- How often did some people do what each of several filters asks for?
-- Looked up by the people in the timeline, so it costs what they did, however many others did it. An identifier of
-- anyone else counts as none. An anonymous id names an event without a user.
-- What stands between dollars is fixed fragments, one a filter: see events/times.rs.
SELECT
    if(user_id IN {identifiers:Array(String)}, user_id, '') AS user,
    if(service_user_id IN {identifiers:Array(String)}, service_user_id, '') AS service_user,
    if(user_id = '' AND service_user_id = '', anonymous_id, '') AS anonymous,
    [$counts$] AS times
FROM events FINAL
PREWHERE (event_name, day, event_id) IN (
    SELECT event_name, day, event_id
    FROM timeline
    WHERE workspace_id = {workspace:UUID}
        AND identifier IN (
            SELECT if(id = '', 0, cityHash64(id))
            FROM (SELECT arrayJoin(arrayConcat({identifiers:Array(String)}, {anonymous:Array(String)})) AS id)
        )
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
        AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND event_name IN {event_names:Array(String)}
)
WHERE workspace_id = {workspace:UUID}
    AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    AND (user_id IN {identifiers:Array(String)} OR service_user_id IN {identifiers:Array(String)}
        OR user_id = '' AND service_user_id = '' AND anonymous_id IN {anonymous:Array(String)})
GROUP BY user, service_user, anonymous
