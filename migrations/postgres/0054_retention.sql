-- What is deleted after a time: settled messages, entries of triggered campaigns, histories of campaigns.

-- What is deleted, one row each: whoever deletes holds its row, so that one process does so at a time, and notes how
-- far it came, so that another goes on there.
create table retention_task (
    name text primary key,
    -- The last entry that was looked at.
    workspace_id uuid,
    campaign_id uuid,
    user_id bytea,
    entry integer,
    -- When all of it was last gone through.
    ended_at timestamptz
);

insert into retention_task (name) values ('messages'), ('campaign_entries'), ('campaign_history');

-- To whom a campaign was sent by messages that are deleted, for its resend policy.
create table campaign_received (
    workspace_id uuid not null,
    campaign_id uuid not null,
    user_id bytea not null,
    last_sent_at timestamptz not null,
    primary key (workspace_id, campaign_id, user_id),
    foreign key (workspace_id, campaign_id) references campaign (workspace_id, id) on delete cascade
);

-- Old messages; rows lie roughly in the order in which they were made.
create index message_created on message using brin (created_at);
