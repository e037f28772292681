-- Which workspace did this marker event land in?
select toString(workspace_id)
from events
where event_name = 'Loadtest Marker'
    and event_id = {id:String}
limit 1
format JSONCompactEachRow
