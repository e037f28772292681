-- Who entered a triggered campaign, by which event: an event makes one message of a campaign, whatever is
-- killed, repeated or read again meanwhile.

create table campaign_entry (
    workspace_id uuid not null,
    campaign_id uuid not null,
    -- The event, by the id that repeats of it share.
    event_id text not null,
    user_id bytea not null,
    -- Which entry of theirs it is, counted from 1: the occurrence of the message.
    entry integer not null,
    -- When the event came in.
    entered_at timestamptz not null,
    -- Whether it was told that the message is queued.
    told boolean not null,
    primary key (workspace_id, campaign_id, event_id),
    foreign key (workspace_id, campaign_id) references campaign (workspace_id, id) on delete cascade
);

-- What somebody's next entry depends on.
create unique index campaign_entry_of_user
    on campaign_entry (workspace_id, campaign_id, user_id, entry) include (entered_at);
-- What is still to be told.
create index campaign_entry_untold on campaign_entry (entered_at) where not told;

-- Who waits for events, asked for with every handful of them.
create index campaign_triggered on campaign (workspace_id, id) include (revision)
    where status = 'active' and definition->>'sendType' = 'triggered';
