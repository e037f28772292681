-- What leaves: occurrences of campaigns, and the messages to each recipient.

-- An occurrence of a campaign that goes out: made in the transaction that takes the campaign up, and done
-- when everyone in it is settled. Whoever delivers may work on it.
create table campaign_run (
    workspace_id uuid not null,
    campaign_id uuid not null,
    occurrence integer not null,
    -- The time it was for.
    due_at timestamptz not null,
    started_at timestamptz not null,
    -- Who in the audience has a message: everyone up to this id.
    audience_after bytea,
    -- Since when everyone has.
    audience_done_at timestamptz,
    completed_at timestamptz,
    -- Who writes the audience down, until when.
    claimed_by uuid,
    claimed_until timestamptz,
    primary key (workspace_id, campaign_id, occurrence),
    foreign key (workspace_id, campaign_id) references campaign (workspace_id, id) on delete cascade
);

create index campaign_run_open on campaign_run (started_at) where completed_at is null;

-- A message to one recipient. Of a campaign at most one for each recipient and occurrence; of a triggered
-- campaign the occurrence counts the entries of that recipient.
create table message (
    workspace_id uuid not null,
    id uuid not null,
    -- 'campaign', 'transactional', 'test', 'confirmation'
    purpose text not null,
    campaign_id uuid,
    occurrence integer not null default 0,
    -- Nobody's where a test goes to a bare address.
    user_id bytea,
    channel text not null,
    variant_id text,
    -- What rendering needs beside the campaign and the profile: the trigger, the text of a transactional
    -- message, a bare address.
    context jsonb,
    -- 'queued', 'sending', 'sent', 'failed', 'skipped', 'cancelled', 'control', 'unknown'
    status text not null,
    -- When it has to be looked at: its time, its next try, for 'sending' when its sender is given up.
    -- Null once it is settled.
    due_at timestamptz,
    -- Not after this: messages held back for longer are dropped.
    expires_at timestamptz,
    attempts smallint not null default 0,
    -- Why it is held, or how it ended: a rule of the gate, or a provider's code and words.
    code text,
    reason text,
    provider_id text,
    created_at timestamptz not null,
    sent_at timestamptz,
    primary key (workspace_id, id),
    constraint message_purpose_known
        check (purpose in ('campaign', 'transactional', 'test', 'confirmation')),
    constraint message_of_a_campaign_names_it
        check (purpose <> 'campaign' or campaign_id is not null and user_id is not null),
    constraint message_status_known check (status in (
        'queued', 'sending', 'sent', 'failed', 'skipped', 'cancelled', 'control', 'unknown')),
    constraint message_is_due_until_settled
        check ((due_at is not null) = (status in ('queued', 'sending')))
);

create unique index message_recipient
    on message (workspace_id, campaign_id, user_id, occurrence) where purpose = 'campaign';
-- What is to be done for a campaign, and whether anything is.
create index message_due
    on message (workspace_id, campaign_id, due_at) where due_at is not null and campaign_id is not null;
-- What is to be done that belongs to no campaign.
create index message_outbox on message (due_at) where due_at is not null and campaign_id is null;
-- Providers name messages by their own ids.
create index message_of_provider on message (provider_id) where provider_id is not null;

-- The variant somebody was first given of a campaign, for its later occurrences.
create table campaign_exposure (
    workspace_id uuid not null,
    campaign_id uuid not null,
    user_id bytea not null,
    variant_id text not null,
    primary key (workspace_id, campaign_id, user_id),
    foreign key (workspace_id, campaign_id) references campaign (workspace_id, id) on delete cascade
);

-- A device that takes push notifications.
create table device (
    workspace_id uuid not null,
    token text not null,
    user_id bytea not null,
    platform text not null,
    -- Web push (RFC 8291).
    p256dh text,
    auth text,
    app_id text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (workspace_id, token),
    foreign key (workspace_id, user_id) references users (workspace_id, id) on delete cascade,
    constraint device_platform_known check (platform in ('ios', 'android', 'web'))
);

create index device_of_user on device (workspace_id, user_id);
