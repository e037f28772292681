-- What user tokens of apps are checked with, and which devices were registered with one.

-- Secrets that a workspace's backend signs user tokens with (HS256), sealed with the master key.
create table sdk_secret (
    workspace_id uuid not null references workspace (id),
    id uuid not null,
    sealed text not null,
    created_at timestamptz not null,
    -- When a secret that was replaced stops being taken; null for the current one.
    retires_at timestamptz,
    primary key (workspace_id, id)
);

create unique index sdk_secret_current on sdk_secret (workspace_id) where retires_at is null;

-- Public keys that user tokens are checked with. A key has one algorithm, and is taken for no other.
create table sdk_public_key (
    workspace_id uuid not null references workspace (id),
    id text not null,
    algorithm text not null,
    pem text not null,
    created_at timestamptz not null,
    primary key (workspace_id, id),
    constraint sdk_public_key_id_unique unique (id),
    constraint sdk_public_key_algorithm_known check (algorithm in ('ES256', 'RS256'))
);

-- A device registered without a user token never takes the place of one registered with it.
alter table device add column proven boolean not null default false;
