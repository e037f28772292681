-- Stores the events of people again, with nothing but name, time and money, under ids of no profile.
INSERT INTO events
    (workspace_id, event_name, day, timestamp, seq, user_id, anonymous_id, service_user_id, alias_label, alias_name, event_id,
     session_id, device_id, received_at, properties, numbers, order_id, revenue, currency, base_revenue, base_currency,
     has_revenue, is_unique)
SELECT workspace_id, event_name, day, timestamp, seq, '', '', $subject$, '', '', $anonymized_id$,
    '', '', timestamp,
    concat('{', arrayStringConcat(arrayConcat(
        arrayMap(name -> concat('"', name, '":', JSONExtractRaw(properties, name)),
            arrayFilter(name -> JSONType(properties, name) IN ('Int64', 'UInt64', 'Double'), ['total', 'total_base'])),
        arrayMap(name -> concat('"', name, '":"', JSONExtractString(properties, name), '"'),
            arrayFilter(name -> match(JSONExtractString(properties, name), '^[A-Za-z]{3}$'), ['currency', 'base_currency']))
    ), ','), '}'),
    mapFilter((name, value) -> name IN ('total', 'total_base'), numbers),
    '', revenue, if(match(toString(currency), '^[A-Za-z]{3}$'), toString(currency), ''), base_revenue, base_currency,
    has_revenue, 1
FROM events FINAL
WHERE $theirs$ AND $anonymized_id$ NOT IN (
    SELECT event_id FROM events WHERE workspace_id = {workspace:UUID} AND service_user_id IN ($subjects$)
)
