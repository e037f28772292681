-- ClickHouse reads nothing of attributes with an integer beyond 64 bits. Such integers are copied as doubles now: the profiles
-- that may have one are copied once more.

insert into people_change (workspace_id, user_id)
select workspace_id, id
from users
where attributes::text ~ '[0-9]{19}';
