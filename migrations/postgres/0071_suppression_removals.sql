-- What was in the ledgers of suppressions and is no more, so that an identifier has a history.

create table suppression_removal (
    workspace_id uuid not null references workspace (id),
    -- The row as it was.
    id uuid not null,
    channel text not null,
    identifier text not null,
    reason text not null,
    source text not null,
    scope text not null,
    list_id uuid,
    created_at timestamptz not null,
    removed_at timestamptz not null,
    -- By which way it was removed, and by which credential. Null where the platform did so.
    removed_source text,
    removed_actor text,
    primary key (workspace_id, id)
);

create index suppression_removal_newest
    on suppression_removal (workspace_id, channel, identifier, removed_at desc);

-- In the database, so that no way of removing a row can miss it. A transaction that removes rows for a caller has the settings
-- `millrace.removal_…`, which end with it. An opt-in by number also removes rows in other workspaces of the organization: they
-- do not learn which credential it was.
create function suppressions_removed() returns trigger language plpgsql as $$
begin
    insert into suppression_removal
        (workspace_id, id, channel, identifier, reason, source, scope, list_id, created_at,
         removed_at, removed_source, removed_actor)
    select r.workspace_id, r.id, r.channel, r.identifier, r.reason, r.source, r.scope, r.list_id, r.created_at,
        greatest(r.created_at, date_trunc('milliseconds', clock_timestamp())),
        nullif(current_setting('millrace.removal_source', true), ''),
        case when r.workspace_id::text = current_setting('millrace.removal_workspace', true)
            then nullif(current_setting('millrace.removal_actor', true), '') end
    from removed r;
    return null;
end
$$;

create trigger suppressions_removed after delete on suppression
    referencing old table as removed
    for each statement execute function suppressions_removed();
