-- What senders of several processes share: how much of a volume limit is used, and which channels have providers.

-- How many messages of a campaign were sent, or may have been, or are in a sender's hands: what its volume
-- limit counts. Made by the first batch that is sent under a limit, and kept up from then on. Senders of the
-- campaign lock the row, so that together they never exceed the limit.
create table campaign_volume (
    workspace_id uuid not null,
    campaign_id uuid not null,
    -- The occurrence that is counted; -1 counts all of them.
    occurrence integer not null,
    used bigint not null,
    primary key (workspace_id, campaign_id, occurrence),
    foreign key (workspace_id, campaign_id) references campaign (workspace_id, id) on delete cascade
);

-- Sent messages of a campaign whose rows were deleted since; a limit that is set later counts them, too.
create table campaign_deleted_sends (
    workspace_id uuid not null,
    campaign_id uuid not null,
    sends bigint not null,
    primary key (workspace_id, campaign_id),
    foreign key (workspace_id, campaign_id) references campaign (workspace_id, id) on delete cascade
);

-- When a message would be due that a volume limit keeps in reserve. While it is kept its due_at is in a year
-- after 5000, in the order in which the reserve is used. Null for all other messages.
alter table message add column reserved_from timestamptz;

-- A channel that some process sends on, and when such a process last said so. A campaign fails for lack of a
-- provider only where no process said so lately.
create table carried_channel (
    channel text primary key,
    carried_at timestamptz not null
);
