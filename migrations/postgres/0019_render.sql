-- What sending one by one and what messages say have to remember.

-- Answers to sends that named a key: whoever sends the same again under it gets the same answer.
create table idempotency_key (
    workspace_id uuid not null,
    key text not null,
    -- Of what was asked for, the key aside.
    fingerprint bytea not null,
    answer jsonb not null,
    created_at timestamptz not null,
    primary key (workspace_id, key)
);

create index idempotency_key_old on idempotency_key (created_at);

-- Where short links in messages lead. Codes are long enough not to be guessed, and name no workspace.
create table short_link (
    code text primary key,
    workspace_id uuid not null,
    message_id uuid not null,
    target text not null,
    created_at timestamptz not null
);
