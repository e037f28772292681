-- Which materialized views does an insert into the event table feed?
select name, create_table_query, as_select
from system.tables
where database = currentDatabase()
    and engine = 'MaterializedView'
    and not startsWith(name, 'loadtest')
    and position(as_select, concat(currentDatabase(), '.events')) > 0
order by name
format JSONCompactEachRow
