-- Identifiers that were removed from their profile: anonymous ids and aliases without one, whose `linked_at` is when they were
-- removed. The row stays, so that the copy in ClickHouse learns of it, so that the versions of an identifier go on growing when
-- it is linked again, and so that a repeated call does not link it again.
--
-- The release before has no such rows.

alter table identity alter column user_id drop not null;

-- As in 0076, 0077 and 0074, and identifiers without a profile change none.
create or replace function identity_changed() returns trigger language plpgsql as $$
begin
    insert into people_change (workspace_id, user_ids)
    select workspace_id, array_agg(user_id)
    from (
        select workspace_id, user_id, (row_number() over () - 1) / 100 as part
        from changed
        where type = 'anonymous' and user_id is not null
    ) c
    group by workspace_id, part;
    return null;
end
$$;

create or replace function identity_updated_changed() returns trigger language plpgsql as $$
begin
    insert into identity_change (version, workspace_id, versions)
    select max(version), workspace_id, array_agg(version)
    from (
        select workspace_id, version, (row_number() over () - 1) / 100 as part
        from (
            select workspace_id, version from changed
            except
            select workspace_id, version from before
        ) d
    ) c
    group by workspace_id, part;
    if found then
        insert into people_change (workspace_id, user_ids)
        select workspace_id, array_agg(user_id)
        from (
            select workspace_id, user_id, (row_number() over () - 1) / 100 as part
            from (
                select workspace_id, user_id from before where type = 'anonymous' and user_id is not null
                union
                select workspace_id, user_id from changed where type = 'anonymous' and user_id is not null
            ) d
        ) c
        group by workspace_id, part;
    end if;
    return null;
end
$$;

create or replace function identity_is_of_profiles() returns trigger language plpgsql
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    named bigint;
    known bigint;
begin
    select count(*) into named
    from (select distinct workspace_id, user_id from changed where user_id is not null) n;
    perform from (select distinct workspace_id, user_id from changed order by workspace_id, user_id) n
    join users u on u.workspace_id = n.workspace_id and u.id = n.user_id
    for key share of u;
    get diagnostics known = row_count;
    if known < named then
        raise foreign_key_violation using message = 'an identifier names a profile that does not exist',
            table = 'identity', constraint = 'identity_user_exists';
    end if;
    return null;
end
$$;
