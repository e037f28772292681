-- Of the people of each week, how many return in it and the weeks after it?
select weeks[1] as first_week, arrayJoin(weeks) - first_week as later, count()
from (
    select arraySort(groupUniqArray(toRelativeWeekNum(timestamp))) as weeks
    from events
    where workspace_id = {workspace:UUID}
        and event_name = {event_name:String}
        and timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        and timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    group by if(user_id != '', user_id, anonymous_id)
)
group by first_week, later
format JSONCompactEachRow
