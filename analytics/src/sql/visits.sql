-- When did each person come? A visit is a session, at its first event, or an event outside any session.
-- Of one pair of identifiers at most so many visits are returned, the latest.
SELECT user_id, service_user_id, arraySlice(arrayReverseSort(groupArray(at)), 1, {visits_max:UInt32}) AS visits
FROM (
    SELECT user_id, service_user_id, toUInt32(toUnixTimestamp(min(timestamp))) AS at
    FROM events FINAL
    WHERE workspace_id = {workspace:UUID}
        AND (user_id != '' OR service_user_id != '')
        AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')) OR toDayOfMonth(day) = 1)
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    GROUP BY user_id, service_user_id, session_id, if(session_id = '', event_id, ''), if(session_id = '', event_name, '')
)
GROUP BY user_id, service_user_id
LIMIT {people_max:UInt64}
