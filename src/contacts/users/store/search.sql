-- Which profiles a typed text finds, best first. A branch that is cut off goes through its index in order,
-- so that it ends early whatever the planner thinks of its pattern.
with begins as materialized (
    select user_id from user_name where workspace_id = $1
        and name like lower($5) order by name using ~<~ limit $10
),
found as (
    select id from users where workspace_id = $1 and deleted_at is null and id = $2
    union
    select id from users where workspace_id = $1 and deleted_at is null
        and external_id in ($3, lower($3))
    union
    select id from users where workspace_id = $1 and deleted_at is null and email = lower($3)
    union
    select id from users where workspace_id = $1 and deleted_at is null and phone_normal = any($4)
    union
    (select id from users where workspace_id = $1 and deleted_at is null
        and external_id like lower($5) order by external_id using ~<~ limit $10)
    union
    (select id from users where workspace_id = $1 and deleted_at is null
        and external_id <> lower(external_id) and lower(external_id) like lower($5)
        order by lower(external_id) using ~<~ limit $10)
    union
    (select id from users where workspace_id = $1 and deleted_at is null
        and email like lower($5) order by email using ~<~ limit $10)
    union
    (select id from users where workspace_id = $1 and deleted_at is null
        and phone_normal like $6 order by phone_normal using ~<~ limit $10)
    union
    (select id from users where workspace_id = $1 and deleted_at is null
        and phone_normal like $11 order by phone_normal using ~<~ limit $10)
    union
    (select id from users where workspace_id = $1 and deleted_at is null
        and phone_normal like $12 order by phone_normal using ~<~ limit $10)
    union
    select user_id from begins
    union
    -- Only as many as are still missing: those with a common first name stand together in the index.
    (select user_id from user_name where workspace_id = $1
        and name like lower($7) order by name using ~<~
        limit $10 - (select count(*) from begins))
    union
    select id from (
        select id, external_id, email, attributes
        from users
        where workspace_id = $1 and deleted_at is null
        order by updated_at desc, id desc
        limit $9
    ) latest
    where email like lower($5) or lower(external_id) like lower($5)
        or user_name_of(attributes) like lower($8)
)
select u.id
from found
join users u on u.workspace_id = $1 and u.id = found.id and u.deleted_at is null
order by
    case
        when u.id = $2 or lower(u.external_id) = lower($3) or u.email = lower($3)
            or u.phone_normal = any($4) then 0
        when u.email like lower($5) or lower(u.external_id) like lower($5)
            or u.phone_normal like $6 or u.phone_normal like $11 or u.phone_normal like $12 then 1
        else 2
    end,
    u.updated_at desc, u.id desc
limit $10
