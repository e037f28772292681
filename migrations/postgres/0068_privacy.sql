-- Requests to erase or export what is stored of a person, and what has to stay of people who were erased.

create table privacy_request (
    workspace_id uuid not null references workspace (id),
    id uuid not null,
    -- 'erase', 'export'
    type text not null,
    -- What an erasure does with events: 'delete', 'anonymize'.
    events text,
    -- Internal id of the person. Null once the person was erased.
    user_id bytea,
    -- 'pending', 'running', 'done', 'failed'
    state text not null,
    -- What a running erasure does next.
    step text,
    -- Hashes of identifiers and new ids of events are made with it. Null once the person was erased.
    hash_key bytea,
    failure text,
    requested_by text not null,
    requested_at timestamptz not null,
    started_at timestamptz,
    finished_at timestamptz,
    -- When the document of an export is deleted.
    expires_at timestamptz,
    primary key (workspace_id, id),
    constraint privacy_request_type_known check (type in ('erase', 'export')),
    constraint privacy_request_events_known check (events in ('delete', 'anonymize')),
    constraint privacy_request_events_are_of_erasures check ((events is not null) = (type = 'erase')),
    constraint privacy_request_state_known check (state in ('pending', 'running', 'done', 'failed')),
    constraint privacy_request_erased_has_no_person check (type = 'export' or state <> 'done' or user_id is null)
);

-- One request of a kind at a time for a person: a second one is answered with the first.
create unique index privacy_request_open on privacy_request (workspace_id, user_id, type)
    where state in ('pending', 'running') and user_id is not null;
create index privacy_request_newest on privacy_request (workspace_id, requested_at desc, id desc);
create index privacy_request_work on privacy_request (requested_at) where state in ('pending', 'running');

-- The identifiers of a person while they are being erased.
create table privacy_identifier (
    workspace_id uuid not null,
    request_id uuid not null,
    -- 'internal', 'external', 'anonymous', 'alias', 'email', 'phone'
    kind text not null,
    value text not null,
    primary key (workspace_id, request_id, kind, value),
    foreign key (workspace_id, request_id) references privacy_request (workspace_id, id) on delete cascade
);

-- The document of an export, in pieces.
create table privacy_export (
    workspace_id uuid not null,
    request_id uuid not null,
    piece integer not null,
    content bytea not null,
    primary key (workspace_id, request_id, piece),
    foreign key (workspace_id, request_id) references privacy_request (workspace_id, id) on delete cascade
);

-- Which processes there are, and up to which drain their spools are free of what was in them before.
create table privacy_node (
    spool_id bytea primary key,
    seen_at timestamptz not null,
    drained bigint not null default 0
);

create table privacy_drain (
    id smallint primary key default 1 check (id = 1),
    wanted bigint not null default 0
);

insert into privacy_drain default values;

-- Who was erased, as hashes of internal ids: a backup from before is restored without them.
create table erased_person (
    workspace_id uuid not null,
    hash bytea not null,
    events text not null,
    erased_at timestamptz not null,
    primary key (workspace_id, hash)
);

-- Opt-outs of erased people, by hashes of their addresses, numbers and external ids.
create table erased_opt_out (
    workspace_id uuid not null references workspace (id),
    hash bytea not null,
    -- 'consent' of a channel, 'list' membership, 'suppression' of the address
    kind text not null,
    channel text not null,
    list_id uuid,
    -- Of a suppression.
    reason text,
    scope text,
    opted_out_at timestamptz not null,
    constraint erased_opt_out_unique
        unique nulls not distinct (workspace_id, hash, kind, channel, list_id, reason, scope),
    constraint erased_opt_out_kind_known check (kind in ('consent', 'list', 'suppression'))
);

-- HMAC-SHA256 of a value with a key that is not in the database: each connection brings the two padded keys of the HMAC as
-- settings. Null on a connection without them.
create function privacy_hash(workspace uuid, kind text, value text) returns bytea language sql stable as $$
    select sha256(decode(current_setting('millrace.privacy_outer', true), 'hex') || sha256(
        decode(current_setting('millrace.privacy_inner', true), 'hex')
            || convert_to(workspace::text || ':' || kind || ':' || value, 'UTF8')))
$$;

-- A profile that comes with an address, number or external id of an erased person gets their opt-outs. From then on they are
-- rows as any others, so the hashes end.
create function restore_opt_outs(profile users) returns void language plpgsql as $$
declare
    hashes bytea[] = array[
        privacy_hash(profile.workspace_id, 'email', profile.email),
        privacy_hash(profile.workspace_id, 'phone', profile.phone_normal),
        privacy_hash(profile.workspace_id, 'external', profile.external_id)];
    found erased_opt_out;
begin
    for found in
        delete from erased_opt_out where workspace_id = profile.workspace_id and hash = any(hashes) returning *
    loop
        if found.kind = 'consent' then
            insert into channel_consent (workspace_id, user_id, channel, status, opt_out_date, opt_in_source, updated_at)
            values (profile.workspace_id, profile.id, found.channel, 'unsubscribed', found.opted_out_at, 'system',
                profile.updated_at)
            on conflict (workspace_id, user_id, channel) do nothing;
        elsif found.kind = 'list' then
            insert into list_membership (workspace_id, id, list_id, user_id, channel, status, created_at, updated_at)
            values (profile.workspace_id, gen_random_uuid(), found.list_id, profile.id, found.channel, 'unsubscribed',
                found.opted_out_at, profile.updated_at)
            on conflict (workspace_id, user_id, list_id, channel) do nothing;
        else
            insert into suppression (workspace_id, id, channel, identifier, reason, source, scope, list_id, created_at)
            values (profile.workspace_id, gen_random_uuid(), found.channel,
                case when found.hash = hashes[1] then profile.email else profile.phone_normal end,
                found.reason, 'system', found.scope, found.list_id, found.opted_out_at)
            on conflict do nothing;
        end if;
    end loop;
end
$$;

-- Once a statement: most workspaces have no such hashes.
create function users_inserted_opt_outs() returns trigger language plpgsql as $$
begin
    if exists (select from erased_opt_out where workspace_id in (select workspace_id from inserted)) then
        perform restore_opt_outs(profile) from inserted profile where deleted_at is null;
    end if;
    return null;
end
$$;

create trigger users_inserted_opt_outs after insert on users
    referencing new table as inserted
    for each statement execute function users_inserted_opt_outs();

create function users_changed_opt_outs() returns trigger language plpgsql as $$
begin
    if exists (select from erased_opt_out where workspace_id = new.workspace_id) then
        perform restore_opt_outs(new);
    end if;
    return null;
end
$$;

create trigger users_changed_opt_outs after update of email, phone, phone_read, external_id, deleted_at on users
    for each row when (new.deleted_at is null and (old.deleted_at is not null or new.email is distinct from old.email
        or new.phone_normal is distinct from old.phone_normal or new.external_id is distinct from old.external_id))
    execute function users_changed_opt_outs();
