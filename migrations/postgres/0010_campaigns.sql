-- Campaigns: what one says, where it stands, every version of it, and what became of it.

-- What a campaign is searched by: name, description and tags, in lower case, held apart by a character
-- that nobody types.
create function campaign_words_of(definition jsonb) returns text language sql immutable parallel safe as $$
    select lower(
        coalesce(definition->>'name', '') || chr(31) ||
        coalesce(definition->>'description', '') || chr(31) ||
        coalesce((select string_agg(tag, chr(31)) from jsonb_array_elements_text(definition->'tags') as tag), ''))
$$;

create table campaign (
    workspace_id uuid not null references workspace (id),
    id uuid not null,
    -- Grows with every change of the row: a change is made to the row that was read, or not at all.
    revision bigint not null default 1,
    -- The writable fields, as they are written out.
    definition jsonb not null,
    -- What lists of campaigns are filtered by, lifted out of them.
    channel text not null generated always as (definition->>'channel') stored,
    tags jsonb not null generated always as (coalesce(definition->'tags', '[]')) stored,
    words text not null generated always as (campaign_words_of(definition)) stored,
    -- The subscription list it is sent under, so that it can only be one of the workspace.
    list_id uuid generated always as ((definition->>'subscriptionCategoryId')::uuid) stored,
    -- Edits of a live campaign that are not published yet: all writable fields.
    pending_draft jsonb,
    pending_draft_updated_at timestamptz,
    -- The number of the newest version.
    version integer not null default 1,
    status text not null,
    -- Of a paused one: what it goes on with. Of an archived one: what it was.
    paused_from text,
    archived_from text,
    -- Whether it was ever live; if so it is archived and never removed.
    ran boolean not null default false,
    failure_reason text,
    -- How many times it went out.
    occurrence integer not null default 0,
    -- When the sender has to look at it: its time, its next occurrence, at once.
    next_send_at timestamptz,
    last_sent_at timestamptz,
    started_at timestamptz,
    completed_at timestamptz,
    cancelled_at timestamptz,
    archived_at timestamptz,
    -- Where learning, and the trial of variants, stand.
    rl jsonb,
    ab jsonb,
    created_by text not null,
    updated_by text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (workspace_id, id),
    foreign key (workspace_id, list_id) references subscription_list (workspace_id, id),
    constraint campaign_status_known check (status in (
        'draft', 'scheduled', 'active', 'paused', 'completed', 'cancelled', 'archived', 'failed')),
    constraint campaign_pause_is_remembered check (status <> 'paused' or paused_from is not null),
    constraint campaign_pause_known check (paused_from in ('active', 'scheduled')),
    constraint campaign_archive_is_remembered check ((archived_from is null) = (status <> 'archived')),
    constraint campaign_failure_has_a_reason check (status <> 'failed' or failure_reason is not null),
    constraint campaign_draft_is_dated
        check ((pending_draft is null) = (pending_draft_updated_at is null))
);

create index campaign_newest on campaign (workspace_id, created_at desc, id desc);
create index campaign_due on campaign (next_send_at)
    where next_send_at is not null and status in ('scheduled', 'active');

-- Every saved change, whole.
create table campaign_version (
    workspace_id uuid not null,
    campaign_id uuid not null,
    version integer not null,
    id uuid not null,
    change_type text not null,
    changed_fields text[] not null,
    snapshot jsonb not null,
    created_by text not null,
    created_at timestamptz not null,
    primary key (workspace_id, campaign_id, version),
    foreign key (workspace_id, campaign_id) references campaign (workspace_id, id) on delete cascade,
    constraint campaign_version_id_unique unique (workspace_id, id),
    constraint campaign_version_change_known
        check (change_type in ('create', 'update', 'publish', 'rollback'))
);

-- What was done to a campaign, by whom. `seq` is the order of the writes.
create table campaign_history (
    workspace_id uuid not null,
    campaign_id uuid not null,
    seq bigint not null generated always as identity,
    id uuid not null,
    action text not null,
    actor text not null,
    changes jsonb not null,
    created_at timestamptz not null,
    primary key (workspace_id, campaign_id, seq),
    foreign key (workspace_id, campaign_id) references campaign (workspace_id, id) on delete cascade
);
