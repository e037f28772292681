-- Changed profiles wait to be copied in a row for up to 100 of a statement, not in one for each: a row and its entries in two
-- indexes took a tenth of the time of PostgreSQL at many `identify` calls. 100 ids fit into a row of the table itself.
--
-- The release before has no such queue.

-- `user_ids` are the profiles of a row, or none where `user_id` is the only one.
alter table people_change
    add column user_ids bytea[],
    alter column user_id drop not null,
    add constraint people_change_has_profiles check ((user_id is null) <> (user_ids is null));

create or replace function users_changed() returns trigger language plpgsql as $$
begin
    insert into people_change (workspace_id, user_ids)
    select workspace_id, array_agg(id)
    from (select workspace_id, id, (row_number() over () - 1) / 100 as part from changed) c
    group by workspace_id, part;
    return null;
end
$$;

create or replace function user_rows_changed() returns trigger language plpgsql as $$
begin
    insert into people_change (workspace_id, user_ids)
    select workspace_id, array_agg(user_id)
    from (select workspace_id, user_id, (row_number() over () - 1) / 100 as part from changed) c
    group by workspace_id, part;
    return null;
end
$$;

create or replace function list_membership_updated_changed() returns trigger language plpgsql as $$
begin
    insert into people_change (workspace_id, user_ids)
    select workspace_id, array_agg(user_id)
    from (
        select workspace_id, user_id, (row_number() over () - 1) / 100 as part
        from (
            select workspace_id, user_id from before
            union
            select workspace_id, user_id from changed
        ) d
    ) c
    group by workspace_id, part;
    return null;
end
$$;

create or replace function identity_changed() returns trigger language plpgsql as $$
begin
    insert into people_change (workspace_id, user_ids)
    select workspace_id, array_agg(user_id)
    from (
        select workspace_id, user_id, (row_number() over () - 1) / 100 as part
        from changed
        where type = 'anonymous'
    ) c
    group by workspace_id, part;
    return null;
end
$$;
