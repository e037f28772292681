-- How many events of a name are there each day?
select toStartOfDay(timestamp) as day, $figure$
from events
where workspace_id = {workspace:UUID}
    and event_name = {event_name:String}
    and timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    and timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
group by day
format JSONCompactEachRow
