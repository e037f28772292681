-- Events that were refused, for those who send them: kept for seven days, of each workspace the newest.

create table rejected_event (
    workspace_id uuid not null references workspace (id) on delete cascade,
    rejected_at timestamptz not null,
    id bigint generated always as identity,
    -- The key it was sent with.
    key_id text not null,
    name text,
    user_id text,
    client_event_id text,
    reason text not null,
    -- The beginning of its text.
    body text not null,
    primary key (workspace_id, rejected_at, id)
);

-- Those that are old, of all workspaces.
create index rejected_event_at on rejected_event (rejected_at);

-- Refused events that are not in rejected_event, because there were too many: their number by hour.
create table rejected_event_unlisted (
    workspace_id uuid not null references workspace (id) on delete cascade,
    hour timestamptz not null,
    events bigint not null,
    primary key (workspace_id, hour)
);

insert into retention_task (name) values ('rejected_events');
