-- Who may do what: organizations, the workspaces in them, and the keys that open a workspace.

-- Holds workspaces that share what follows a person across them (a phone number's opt-out).
create table organization (
    id uuid primary key,
    name text not null,
    created_at timestamptz not null,
    constraint organization_name_unique unique (name)
);

-- The wall: every row of every other table belongs to exactly one workspace.
create table workspace (
    id uuid primary key,
    organization_id uuid not null references organization (id),
    name text not null,
    -- The reporting currency, ISO 4217; null until one is set.
    currency text,
    timezone text not null default 'UTC',
    created_at timestamptz not null,
    constraint workspace_name_unique unique (name),
    constraint workspace_organization_unique unique (organization_id, id),
    constraint workspace_currency_is_a_code check (currency ~ '^[A-Z]{3}$')
);

-- Keys of programs ('api', with scopes) and of client SDKs ('sdk', without). Of the secret, 256
-- random bits, only its SHA-256 is kept.
create table api_key (
    workspace_id uuid not null references workspace (id),
    id text not null,
    kind text not null,
    label text,
    secret_sha256 bytea not null,
    scopes text[] not null,
    created_at timestamptz not null,
    last_used_at timestamptz,
    revoked_at timestamptz,
    primary key (workspace_id, id),
    constraint api_key_id_unique unique (id),
    constraint api_key_id_is_12_characters check (id ~ '^[0-9A-Za-z]{12}$'),
    constraint api_key_kind_known check (kind in ('api', 'sdk')),
    constraint api_key_secret_is_sha256 check (octet_length(secret_sha256) = 32)
);

-- Counts every change that a cached key must follow. Servers poll it, so that a revocation takes
-- effect within a second even when its notification is lost.
create table auth_revision (
    only_row boolean primary key default true,
    revision bigint not null,
    constraint auth_revision_has_one_row check (only_row)
);

insert into auth_revision (revision) values (0);

create function auth_changed() returns trigger language plpgsql as $$
begin
    update auth_revision set revision = revision + 1;
    perform pg_notify('millrace_auth', '');
    return null;
end
$$;

-- On the tables themselves, so that a change made by hand counts as well. Not on last_used_at.
create trigger api_key_changed
    after update of kind, secret_sha256, scopes, revoked_at or delete on api_key
    for each statement execute function auth_changed();

create trigger workspace_changed
    after update of organization_id, currency, timezone or delete on workspace
    for each statement execute function auth_changed();
