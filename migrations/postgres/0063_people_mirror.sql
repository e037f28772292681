-- Which profiles and campaigns changed since they were copied to ClickHouse.

-- One row for each change of a profile, its consent, its lists or its anonymous ids. A worker copies the present state of
-- these profiles and deletes the rows in the transaction in which ClickHouse has it. `seq` is in the order of the
-- statements, not of the commits, so it is no version of what it stands for.
create table people_change (
    seq bigint not null generated always as identity primary key,
    workspace_id uuid not null,
    user_id bytea not null,
    changed_at timestamptz not null default clock_timestamp()
) with (
    -- A queue: nearly all of its rows are dead. It is cleaned by their number, at once, and never waits for a lock on the
    -- whole table.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = false
);

-- Whether a workspace has changes that wait.
create index people_change_of_workspace on people_change (workspace_id, seq);

-- The same for campaigns.
create table campaign_change (
    seq bigint not null generated always as identity primary key,
    workspace_id uuid not null,
    campaign_id uuid not null,
    changed_at timestamptz not null default clock_timestamp()
) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = false
);

create index campaign_change_of_workspace on campaign_change (workspace_id, seq);

-- Versions of the copies. One is taken for each batch, under the lock of the worker.
create sequence people_version;

-- A copy of every profile and campaign, while it is under way: the key of the last profile that was copied. Here and not in
-- `people_change`, so that changes do not wait behind all profiles, and writers not for this migration.
create table people_rebuild (
    id smallint primary key default 1 check (id = 1),
    -- Copies of a smaller version are of profiles that do not exist; null before the first batch.
    first_version bigint,
    workspace_id uuid not null default '00000000-0000-0000-0000-000000000000',
    user_id bytea not null default ''
);

-- What is here already.
insert into people_rebuild default values;

-- Rows are written once a statement, without looking at which columns it changed: comparing old and new rows costs more than
-- a row that changes nothing. `changed` are the rows as they are now, or were before they were deleted.
create function users_changed() returns trigger language plpgsql as $$
begin
    insert into people_change (workspace_id, user_id) select workspace_id, id from changed;
    return null;
end
$$;

create trigger users_inserted_changed after insert on users
    referencing new table as changed
    for each statement execute function users_changed();
create trigger users_updated_changed after update on users
    referencing new table as changed
    for each statement execute function users_changed();
create trigger users_deleted_changed after delete on users
    referencing old table as changed
    for each statement execute function users_changed();

-- Rows that belong to a profile and stay with it.
create function user_rows_changed() returns trigger language plpgsql as $$
begin
    insert into people_change (workspace_id, user_id) select workspace_id, user_id from changed;
    return null;
end
$$;

create trigger channel_consent_inserted_changed after insert on channel_consent
    referencing new table as changed
    for each statement execute function user_rows_changed();
create trigger channel_consent_updated_changed after update on channel_consent
    referencing new table as changed
    for each statement execute function user_rows_changed();
create trigger channel_consent_deleted_changed after delete on channel_consent
    referencing old table as changed
    for each statement execute function user_rows_changed();
create trigger list_membership_inserted_changed after insert on list_membership
    referencing new table as changed
    for each statement execute function user_rows_changed();
create trigger list_membership_deleted_changed after delete on list_membership
    referencing old table as changed
    for each statement execute function user_rows_changed();

-- A merge moves memberships from one profile to another.
create function list_membership_updated_changed() returns trigger language plpgsql as $$
begin
    insert into people_change (workspace_id, user_id)
    select workspace_id, user_id from before
    union
    select workspace_id, user_id from changed;
    return null;
end
$$;

create trigger list_membership_updated_changed after update on list_membership
    referencing old table as before new table as changed
    for each statement execute function list_membership_updated_changed();

-- Of identifiers only anonymous ids are copied.
create function identity_changed() returns trigger language plpgsql as $$
begin
    insert into people_change (workspace_id, user_id)
    select workspace_id, user_id from changed where type = 'anonymous';
    return null;
end
$$;

create trigger identity_inserted_changed after insert on identity
    referencing new table as changed
    for each statement execute function identity_changed();
create trigger identity_deleted_changed after delete on identity
    referencing old table as changed
    for each statement execute function identity_changed();

-- Links move from one profile to another. A statement that only notes that ClickHouse has them is no change.
create function identity_updated_changed() returns trigger language plpgsql as $$
begin
    insert into people_change (workspace_id, user_id)
    select workspace_id, user_id from before
    where type = 'anonymous' and exists (select from changed where not mirrored)
    union
    select workspace_id, user_id from changed where type = 'anonymous' and not mirrored;
    return null;
end
$$;

create trigger identity_updated_changed after update on identity
    referencing old table as before new table as changed
    for each statement execute function identity_updated_changed();

-- Campaigns change one at a time, and mostly in what is not copied.
create function campaign_changed() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        insert into campaign_change (workspace_id, campaign_id) values (old.workspace_id, old.id);
    else
        insert into campaign_change (workspace_id, campaign_id) values (new.workspace_id, new.id);
    end if;
    return null;
end
$$;

create trigger campaign_inserted_changed after insert or delete on campaign
    for each row execute function campaign_changed();
create trigger campaign_updated_changed after update on campaign
    for each row when (old.definition is distinct from new.definition or old.status <> new.status)
    execute function campaign_changed();
