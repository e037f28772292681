-- Identifiers that wait to be copied to ClickHouse are in a queue of their own, and their profiles are checked once a statement.
--
-- To note in each row that ClickHouse has it meant writing the row again, and an entry in each of its indexes: a sixth of the
-- time of PostgreSQL at many `identify` calls. The foreign key took a twelfth.

-- In the order in which calls that link take them.
lock table users, identity in access exclusive mode;

-- One row for each version of an identifier. A worker copies the identifiers that have these versions and deletes the rows
-- then. An identifier that has changed since has another version, and a row of that one.
create table identity_change (
    version bigint not null primary key,
    workspace_id uuid not null,
    changed_at timestamptz not null default clock_timestamp()
) with (
    -- A queue, as `people_change`.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = false
);

-- Whether a workspace has identifiers that wait.
create index identity_change_of_workspace on identity_change (workspace_id, version);

create unique index identity_version on identity (version);

insert into identity_change (version, workspace_id, changed_at)
select version, workspace_id, changed_at from identity where not mirrored;

-- The release before has no identifiers.
alter table identity drop column mirrored, drop column changed_at;

create function identity_inserted() returns trigger language plpgsql as $$
begin
    insert into identity_change (version, workspace_id) select version, workspace_id from changed;
    insert into people_change (workspace_id, user_id)
    select workspace_id, user_id from changed where type = 'anonymous';
    return null;
end
$$;

drop trigger identity_inserted_changed on identity;
create trigger identity_inserted_changed after insert on identity
    referencing new table as changed
    for each statement execute function identity_inserted();

-- A statement that gives no new version changes nothing that is copied.
create or replace function identity_updated_changed() returns trigger language plpgsql as $$
begin
    insert into identity_change (version, workspace_id)
    select version, workspace_id from changed
    except
    select version, workspace_id from before;
    if found then
        insert into people_change (workspace_id, user_id)
        select workspace_id, user_id from before where type = 'anonymous'
        union
        select workspace_id, user_id from changed where type = 'anonymous';
    end if;
    return null;
end
$$;

-- As a foreign key, but once a statement (as 0013). Profiles are found by their key, whatever the planner knows of the tables
-- when it first sees the statement.
alter table identity drop constraint identity_workspace_id_user_id_fkey;

create function identity_is_of_profiles() returns trigger language plpgsql
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    named bigint;
    known bigint;
begin
    select count(*) into named from (select distinct workspace_id, user_id from changed) n;
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

create trigger identity_inserted_of_profiles after insert on identity
    referencing new table as changed
    for each statement execute function identity_is_of_profiles();
create trigger identity_updated_of_profiles after update on identity
    referencing new table as changed
    for each statement execute function identity_is_of_profiles();

create function users_erased_without_identity() returns trigger language plpgsql
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    if exists (
        select from removed r join identity i on i.workspace_id = r.workspace_id and i.user_id = r.id
    ) then
        raise foreign_key_violation using message = 'a profile that is deleted has identifiers',
            table = 'users', constraint = 'identity_user_exists';
    end if;
    return null;
end
$$;

create trigger users_erased_without_identity after delete on users
    referencing old table as removed
    for each statement execute function users_erased_without_identity();
