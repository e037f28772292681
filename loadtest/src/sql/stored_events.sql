-- How many events does an exact reader see in the workspace?
select count()
from events final
where workspace_id = {workspace:UUID}
format JSONCompactEachRow
