-- One person, many identifiers: what links anonymous ids and further ids to profiles, and profiles that were merged
-- into others.

-- A merged profile is a deleted one that answers as another. `merged_into` names the last of a chain, so one step
-- always suffices.
alter table users
    add column merged_into bytea,
    -- Whether its external id is taken: it answers as the profile it was merged into. Not once that one is deleted.
    add column keeps_external_id boolean not null default false,
    add constraint users_merged_is_deleted check (merged_into is null or deleted_at is not null),
    add constraint users_merged_into_another check (merged_into <> id),
    add constraint users_kept_external_id_is_of_merged check (not keeps_external_id or merged_into is not null),
    add constraint users_merged_into_fkey
        foreign key (workspace_id, merged_into) references users (workspace_id, id);

create index users_merged on users (workspace_id, merged_into) where merged_into is not null;

-- One profile answers to an external id: the active one that has it, or the one that it was merged into.
drop index users_external_id_unique;
create unique index users_external_id_unique
    on users (workspace_id, external_id text_pattern_ops) where deleted_at is null or keeps_external_id;

-- Merged profiles are not in the recycle bin.
drop index users_deleted_newest;
create index users_deleted_newest on users (workspace_id, deleted_at desc, id desc)
    where deleted_at is not null and merged_into is null;

-- The profile that an internal id stands for.
create function survivor_of(workspace uuid, profile bytea) returns bytea language sql stable parallel safe as $$
    select coalesce((select merged_into from users where workspace_id = workspace and id = profile), profile);
$$;

-- As in 0004, and a merged profile counts nowhere.
create or replace function users_inserted() returns trigger language plpgsql as $$
begin
    insert into user_tally (workspace_id, active, deleted)
    select workspace_id, count(*) filter (where deleted_at is null),
        count(*) filter (where deleted_at is not null and merged_into is null)
    from inserted
    group by workspace_id;
    if random() < 1.0 / 64 then
        perform user_tally_fold(workspace_id) from (select distinct workspace_id from inserted) w;
    end if;
    return null;
end
$$;

create or replace function users_moved() returns trigger language plpgsql as $$
declare
    workspace uuid = old.workspace_id;
    active bigint = 0;
    deleted bigint = 0;
begin
    if old.deleted_at is null then active = -1;
    elsif old.merged_into is null then deleted = -1;
    end if;
    if tg_op = 'UPDATE' then
        if new.deleted_at is null then active = active + 1;
        elsif new.merged_into is null then deleted = deleted + 1;
        end if;
    end if;
    insert into user_tally (workspace_id, active, deleted) values (workspace, active, deleted);
    if random() < 1.0 / 64 then
        perform user_tally_fold(workspace);
    end if;
    return null;
end
$$;

-- Identifiers of a profile beside its own internal and external id.
create table identity (
    workspace_id uuid not null,
    -- 'anonymous': an anonymous id. 'alias': an id it was given by an alias. 'external', 'internal': the ids of a
    -- profile that was merged into it.
    type text not null,
    id text not null,
    user_id bytea not null,
    linked_at timestamptz not null,
    -- 'identify', 'alias', 'merge'
    source text not null,
    -- The order of links, and of their changes: of two rows with one key in ClickHouse, the larger counts.
    version bigint not null generated always as identity,
    -- Whether ClickHouse has the row as it is.
    mirrored boolean not null default false,
    changed_at timestamptz not null default clock_timestamp(),
    primary key (workspace_id, type, id),
    foreign key (workspace_id, user_id) references users (workspace_id, id),
    constraint identity_type_known check (type in ('anonymous', 'alias', 'external', 'internal')),
    constraint identity_source_known check (source in ('identify', 'alias', 'merge')),
    constraint identity_id_length check (char_length(id) between 1 and 255)
);

create index identity_of_user on identity (workspace_id, user_id, linked_at, id);
create index identity_unmirrored on identity (version) where not mirrored;

-- The entry of a merge in the consent history.
alter table subscription_history
    drop constraint subscription_history_action_known,
    add constraint subscription_history_action_known check (action in (
        'subscribe', 'unsubscribe', 'resubscribe', 'bounce', 'hard_bounce', 'soft_bounce', 'complaint',
        'import', 'api_update', 'merge'));
