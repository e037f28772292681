-- Which events happened in a range of time, in order of time and id, and whose are they?
-- Events of one instant and id, which have other names or key days, are in the order of these. What stands between
-- dollars is the fixed conditions of the range, once for the events and twice for the identifiers in them: of people
-- and identities only those are joined that the range names, so that the join is no larger than the range.
SELECT
    event_id,
    toString(event_name) AS name,
    if(owners.person != '', owners.person, tracked.identifier) AS person_id,
    user_id,
    anonymous_id,
    service_user_id,
    toString(alias_label) AS label,
    alias_name,
    session_id,
    device_id,
    toUnixTimestamp64Milli(timestamp) AS timestamp_ms,
    toUnixTimestamp64Milli(received_at) AS received_at_ms,
    properties,
    numbers,
    order_id,
    has_revenue,
    toInt64(toDecimal128(revenue, 4) * 10000) AS revenue_units,
    toString(currency) AS order_currency,
    toUInt16(day) AS key_day
FROM (
    SELECT
        event_id, event_name, user_id, anonymous_id, service_user_id, alias_label, alias_name, session_id, device_id,
        timestamp, received_at, properties, numbers, order_id, has_revenue, revenue, currency, day,
        multiIf(
            service_user_id != '', service_user_id,
            user_id != '', user_id,
            alias_name != '', alias_name,
            anonymous_id) AS identifier,
        multiIf(
            service_user_id != '', concat('internal:', service_user_id),
            user_id != '', concat('user:', user_id),
            concat('anonymous:', anonymous_id)) AS owner_key
    FROM events FINAL
    WHERE $range$
        AND ({from_start:Bool} OR (timestamp, event_id, toString(event_name), toUInt16(day)) > (
            fromUnixTimestamp64Milli({after_ms:Int64}, 'UTC'), {after_id:String}, {after_name:String}, {after_day:UInt16}))
) AS tracked
LEFT ANY JOIN (
    SELECT owner_key, argMin(person, rank) AS person
    FROM (
        SELECT concat('user:', external_id) AS owner_key, lower(hex(user_id)) AS person, 0 AS rank
        FROM people FINAL
        WHERE workspace_id = {workspace:UUID}
            AND NOT is_deleted
            AND external_id != ''
            AND external_id IN (SELECT user_id FROM events WHERE $range$)
        UNION ALL
        SELECT concat(prefix, id) AS owner_key, user_id AS person, if(type = 'anonymous', 2, 1) AS rank
        FROM identities FINAL
        ARRAY JOIN multiIf(
            type = 'internal', ['internal:', 'user:'],
            type = 'anonymous', ['user:', 'anonymous:'],
            ['user:']) AS prefix
        WHERE workspace_id = {workspace:UUID}
            AND user_id != ''
            AND id IN (SELECT arrayJoin([user_id, service_user_id, anonymous_id]) FROM events WHERE $range$)
    )
    GROUP BY owner_key
) AS owners ON tracked.owner_key = owners.owner_key
ORDER BY timestamp, event_id, name, key_day
