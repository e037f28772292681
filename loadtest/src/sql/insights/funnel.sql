-- How many people reach each of three steps within a week?
select reached, count()
from (
    select
        windowFunnel(604800000)(
            toUInt64(toUnixTimestamp64Milli(timestamp)),
            event_name = 'Product Viewed', event_name = 'Added To Cart', event_name = 'Order Completed') as reached
    from events
    where workspace_id = {workspace:UUID}
        and event_name in ('Product Viewed', 'Added To Cart', 'Order Completed')
        and timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        and timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    group by if(user_id != '', user_id, anonymous_id)
)
group by reached
format JSONCompactEachRow
