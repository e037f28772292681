-- When did each person look at messages? Opens and clicks; those within one second are one look. Of one
-- person at most so many are returned, the latest.
SELECT '' AS user_id, person AS service_user_id, '' AS anonymous_id, visits
FROM (
    SELECT user_id AS person,
        arraySlice(arrayReverseSort(groupUniqArray(toUInt32(toUnixTimestamp(timestamp)))), 1, {visits_max:UInt32}) AS visits
    FROM message_events
    WHERE workspace_id = {workspace:UUID}
        AND type IN ('opened', 'clicked')
        AND user_id != ''
        AND NOT is_bot
        AND NOT is_test
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    GROUP BY person
    LIMIT {people_max:UInt64}
)
