-- Who changed the settings of a workspace, and when. Rows are added in the transaction of the change and never changed.
create table audit_log (
    workspace_id uuid not null references workspace (id),
    seq bigint generated always as identity,
    -- Such as 'key.created'.
    action text not null,
    -- What was changed: its kind, its id, and its name at that time, if it had one.
    object_kind text not null,
    object_id text not null,
    object_name text,
    -- The credential: 'api_key:…', 'user:…', 'command_line'.
    actor text not null,
    ip_address text,
    user_agent text,
    -- Further facts, such as the scopes of a key.
    details jsonb not null default '{}',
    created_at timestamptz not null,
    primary key (workspace_id, seq)
);
