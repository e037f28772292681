-- The same by the ten most frequent values of a property.
with counted as (
    select toStartOfDay(timestamp) as day, JSONExtractString(properties, {property:String}) as value, count() as times
    from events
    where workspace_id = {workspace:UUID}
        and event_name = {event_name:String}
        and timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        and timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    group by day, value
)
select day, value, times
from counted
where value in (select value from counted group by value order by sum(times) desc limit 10)
format JSONCompactEachRow
