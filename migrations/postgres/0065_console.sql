-- Signing in at the console: links that sign in once, and sessions. Of both only the hash of the token is stored.
create table console_link (
    workspace_id uuid not null references workspace (id),
    token_sha256 bytea not null,
    -- Who signs in by it, in audit entries.
    actor text not null,
    scopes text[] not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    -- Once it is set, the link signs in no more.
    used_at timestamptz,
    primary key (workspace_id, token_sha256),
    constraint console_link_token_unique unique (token_sha256)
);

create table console_session (
    workspace_id uuid not null references workspace (id),
    id text not null,
    token_sha256 bytea not null,
    actor text not null,
    scopes text[] not null,
    user_agent text,
    address text,
    created_at timestamptz not null,
    -- To the minute or so.
    last_used_at timestamptz not null,
    expires_at timestamptz not null,
    revoked_at timestamptz,
    primary key (workspace_id, id),
    constraint console_session_token_unique unique (token_sha256)
);
