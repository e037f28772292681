-- Which events happened in a range of time, in order of time and id, and whose are they?
-- Events of one instant and id, which have other names or key days, are in the order of these. What stands between
-- dollars is the fixed conditions of the range, and which profiles identifiers lead to (identifiers.sql): only identifiers
-- that the range names are joined, so that the join is no larger than the range.
SELECT
    event_id,
    toString(event_name) AS name,
    multiIf(of_service.person != '', of_service.person, of_user.person != '', of_user.person, tracked.identifier) AS person_id,
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
            user_id != '', user_id,
            service_user_id != '', service_user_id,
            alias_name != '', alias_name,
            anonymous_id) AS identifier,
        multiIf(
            user_id != '', user_id,
            service_user_id = '', concat('\x02', anonymous_id),
            '') AS user_key
    FROM events FINAL
    WHERE $range$
        AND ({from_start:Bool} OR (timestamp, event_id, toString(event_name), toUInt16(day)) > (
            fromUnixTimestamp64Milli({after_ms:Int64}, 'UTC'), {after_id:String}, {after_name:String}, {after_day:UInt16}))
) AS tracked
LEFT ANY JOIN (
    SELECT token, lower(hex(argMin(profile, place))) AS person
    FROM (
        $identifiers$
    )
    WHERE token IN (SELECT service_user_id FROM events WHERE $range$ AND service_user_id != '')
    GROUP BY token
) AS of_service ON of_service.token = tracked.service_user_id
LEFT ANY JOIN (
    SELECT token, lower(hex(argMin(profile, place))) AS person
    FROM (
        $identifiers$
    )
    WHERE token IN (SELECT arrayJoin([user_id, concat('\x02', anonymous_id)]) FROM events WHERE $range$)
    GROUP BY token
) AS of_user ON of_user.token = tracked.user_key
ORDER BY timestamp, event_id, name, key_day
