-- Where does a reader of the API have to look for these ids?
select event_id, user_id, event_name, formatDateTime(timestamp, '%Y-%m-%dT%H:%i:%S')
from events final
where workspace_id = {workspace:UUID}
    and event_id in (select arrayJoin(JSONExtract({ids:String}, 'Array(String)')))
format JSONCompactEachRow
