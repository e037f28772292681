-- What sending itself has to remember.

-- A failed run that was called back: its messages that failed are to be tried anew.
alter table campaign_run add column is_retried boolean not null default false;

-- Messages in flight, by when their sender is given up.
create index message_sending on message (due_at) where status = 'sending';

-- How much of its rate a campaign has left, for all senders together.
create table campaign_pace (
    workspace_id uuid not null,
    campaign_id uuid not null,
    -- Messages that may leave at once.
    tokens double precision not null,
    -- When that was so.
    as_of timestamptz not null,
    primary key (workspace_id, campaign_id),
    foreign key (workspace_id, campaign_id) references campaign (workspace_id, id) on delete cascade
);

-- What somebody was sent, by the hour: what frequency caps count.
create table send_tally (
    workspace_id uuid not null,
    user_id bytea not null,
    channel text not null,
    hour timestamptz not null,
    sends integer not null,
    primary key (workspace_id, user_id, channel, hour)
);

create index send_tally_old on send_tally (hour);
