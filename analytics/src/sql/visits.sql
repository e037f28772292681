-- When did each person come? A visit is a session, at its first event, or an event outside any session.
-- Of one visitor at most so many visits are returned, the latest. Anonymous ids that no profile has are left out.
SELECT
    user_id,
    service_user_id,
    anonymous AS anonymous_id,
    arraySlice(arrayReverseSort(groupArray(at)), 1, {visits_max:UInt32}) AS visits
FROM (
    SELECT
        user_id,
        service_user_id,
        if(user_id = '' AND service_user_id = '', anonymous_id, '') AS anonymous,
        toUInt32(toUnixTimestamp(min(timestamp))) AS at
    FROM events FINAL
    WHERE workspace_id = {workspace:UUID}
        AND (user_id != '' OR service_user_id != '' OR anonymous_id IN (
            SELECT id FROM identities FINAL WHERE workspace_id = {workspace:UUID} AND type = 'anonymous'))
        AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
            OR day = toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    GROUP BY
        user_id, service_user_id, anonymous, session_id,
        if(session_id = '', event_id, ''), if(session_id = '', event_name, '')
)
GROUP BY user_id, service_user_id, anonymous
LIMIT {people_max:UInt64}
