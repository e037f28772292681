-- Dashboard sessions that are taken no more before their time is over: one by its id (`jti`), or all that an actor
-- was given until a moment.
create table revoked_session (
    workspace_id uuid not null references workspace (id),
    kind text not null,
    -- The id of a session, or the name of an actor.
    name text not null,
    revoked_at timestamptz not null,
    -- When the last session that this revokes has expired by itself.
    expires_at timestamptz not null,
    primary key (workspace_id, kind, name),
    constraint revoked_session_kind_known check (kind in ('session', 'actor'))
);
