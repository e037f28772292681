-- What properties do the newest events of a name have: types, how many events have them, and values where they are few?
WITH
    sample AS (
        SELECT properties
        FROM events FINAL
        WHERE workspace_id = {workspace:UUID} AND event_name = {event_name:String} AND day <= toDate(now('UTC'))
        ORDER BY workspace_id DESC, event_name DESC, day DESC
        LIMIT {sample:UInt64}
    ),
    ifNull((SELECT count() FROM sample), 0) AS sampled
SELECT
    name,
    sampled,
    sum(times) AS events,
    arraySort(groupUniqArray(type)) AS types,
    if(count() > {values_max:UInt64}, [], arrayMap(it -> it.2, arraySort(groupArray((-toInt64(times), value))))) AS values,
    if(count() > {values_max:UInt64}, [], arrayMap(it -> toUInt64(-it.1), arraySort(groupArray((-toInt64(times), value))))) AS value_events
FROM (
    SELECT
        pair.1 AS name,
        toString(JSONType(pair.2)) AS type,
        substringUTF8(if(type = 'String', JSONExtractString(pair.2), pair.2), 1, 255) AS value,
        count() AS times
    FROM (SELECT arrayJoin(JSONExtractKeysAndValuesRaw(properties)) AS pair FROM sample)
    GROUP BY name, type, value
)
GROUP BY name
ORDER BY events DESC, name
LIMIT {limit:UInt64}
