-- How many merges are under way?
select count()
from system.merges
format JSONCompactEachRow
