-- User profiles. This table is what identity needs: the internal id, and the caller's own id it stands for.
-- `id` is the 24-hex internal id as 12 bytes; `external_id` is the caller's identifier.

create table users (
    workspace_id uuid not null references workspace (id),
    id bytea not null check (octet_length(id) = 12),
    external_id text check (char_length(external_id) between 1 and 255),
    email text,
    phone text check (char_length(phone) <= 20),
    attributes jsonb not null default '{}',
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    primary key (workspace_id, id)
);

-- One active profile per external id; a deleted one keeps its id in the recycle bin.
create unique index users_external_id_unique on users (workspace_id, external_id) where deleted_at is null;
