-- Whether all nodes have the same master key.

-- A value derived from the master key, which reveals nothing about it. The first node writes it, and each node compares its
-- own when it starts.
create table master_key_check (
    id smallint primary key default 1 check (id = 1),
    value bytea not null,
    created_at timestamptz not null default now()
);
