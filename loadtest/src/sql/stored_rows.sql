-- How many rows of the workspace are on disk, repeats not yet merged away included?
select count()
from events
where workspace_id = {workspace:UUID}
format JSONCompactEachRow
