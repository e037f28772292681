-- Which event ids does an exact reader see, each as often as it is seen?
select event_id
from events final
where workspace_id = {workspace:UUID}
format JSONCompactEachRow
