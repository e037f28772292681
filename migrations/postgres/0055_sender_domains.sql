-- Domains that a workspace may send email from once it has shown that they are its own: by a token in DNS that is
-- this workspace's alone. Two workspaces may each verify the same domain.
create table sender_domain (
    workspace_id uuid not null references workspace (id) on delete cascade,
    id uuid not null,
    domain text not null,
    token text not null,
    status text not null check (status in ('pending', 'verified', 'failed')),
    -- What the last check found, by the purpose of the record.
    findings jsonb not null,
    problem text,
    checked_at timestamptz,
    verified_at timestamptz,
    created_at timestamptz not null,
    primary key (workspace_id, id),
    constraint sender_domain_unique unique (workspace_id, domain)
);
