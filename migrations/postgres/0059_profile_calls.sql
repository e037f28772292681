-- Calls of event SDKs that changed a profile: each is applied once, however often it is sent or read again.
create table profile_call (
    workspace_id uuid not null,
    -- A hash of what the call is, whose it is and its id.
    key bytea not null,
    applied_at timestamptz not null,
    primary key (workspace_id, key),
    constraint profile_call_key_length check (octet_length(key) = 16)
);

create index profile_call_applied on profile_call (applied_at);
