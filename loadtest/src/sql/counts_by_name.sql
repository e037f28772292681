-- How many events of each name does an exact reader count, orders once per order?
select
    event_name,
    if(
        event_name = 'Order Completed',
        uniqExact(if(order_id = '', concat('event:', event_id), order_id)),
        count()
    ) as counted
from events final
where workspace_id = {workspace:UUID}
group by event_name
order by counted desc
limit 100
format JSONCompactEachRow
