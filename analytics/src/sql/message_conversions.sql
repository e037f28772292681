-- Which events of a name were tracked for known people in a time, and what did they bring in?
-- Of orders only the first event of each counts. Amounts are in ten thousandths.
SELECT
    user_id,
    service_user_id,
    if(user_id = '' AND service_user_id = '', anonymous_id, '') AS anonymous,
    toUnixTimestamp64Milli(timestamp) AS at_ms,
    if({with_properties:Bool}, properties, '') AS properties,
    has_revenue != 0 AS is_paid,
    reinterpretAsInt64(revenue) AS amount,
    toString(currency) AS currency,
    reinterpretAsInt64(base_revenue) AS base_amount,
    toString(base_currency) AS base_currency
FROM events FINAL
WHERE workspace_id = {workspace:UUID}
    AND event_name = {event_name:String}
    AND (user_id != '' OR service_user_id != '' OR anonymous_id IN (
        SELECT id FROM identities WHERE workspace_id = {workspace:UUID} AND type = 'anonymous'))
    AND NOT ({without_apps:Bool} AND startsWith(event_id, 'sdk:'))
    AND ({everybody:Bool} OR user_id IN {identifiers:Array(String)} OR service_user_id IN {identifiers:Array(String)}
        OR user_id = '' AND service_user_id = '' AND anonymous_id IN {anonymous_ids:Array(String)})
    AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
        OR day = toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')))
    AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
    AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    $and$
LIMIT {events_max:UInt64}
