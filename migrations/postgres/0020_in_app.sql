-- What apps show: to whom a campaign's in-app message was handed over, and how often they saw it.

create table in_app_recipient (
    workspace_id uuid not null,
    user_id bytea not null,
    campaign_id uuid not null,
    -- By which apps tell of it; worked out of the campaign and the user.
    message_id uuid not null,
    -- What they are shown.
    variant_id text not null,
    -- 'sent', 'control', 'failed': it could not be rendered for them.
    status text not null,
    displays integer not null default 0,
    last_display_at timestamptz,
    -- Hashes of the ids of the displays told last, so that one told again is not counted again.
    told bigint[] not null default '{}',
    created_at timestamptz not null,
    primary key (workspace_id, user_id, campaign_id),
    foreign key (workspace_id, user_id) references users (workspace_id, id) on delete cascade,
    foreign key (workspace_id, campaign_id) references campaign (workspace_id, id) on delete cascade,
    constraint in_app_recipient_status_known check (status in ('sent', 'control', 'failed'))
);

create unique index in_app_recipient_message on in_app_recipient (workspace_id, message_id);

-- A message to look at a campaign by, in the app of one person: as it was rendered, until it is over.
create table in_app_test (
    workspace_id uuid not null,
    message_id uuid not null,
    user_id bytea not null,
    campaign_id uuid not null,
    variant_id text not null,
    content jsonb not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    -- Since when it has been seen, and is not shown again.
    displayed_at timestamptz,
    primary key (workspace_id, message_id),
    foreign key (workspace_id, user_id) references users (workspace_id, id) on delete cascade,
    foreign key (workspace_id, campaign_id) references campaign (workspace_id, id) on delete cascade
);

create index in_app_test_user on in_app_test (workspace_id, user_id);

-- Campaigns that apps ask for.
create index campaign_in_apps on campaign (workspace_id) where channel = 'in_app' and status = 'active';
