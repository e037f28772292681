-- Contacts: whom we may reach, on which channel and under which list, and how we know.
--
-- A user's id is the only link between these tables and a person; only `suppression` holds addresses,
-- because an address stays suppressed whoever has it.

-- The recycle bin: a deleted profile keeps its row, and says who put it there.
alter table users
    add column deleted_by text,
    add column deleted_via text,
    add column deleted_reason text,
    add column restored_at timestamptz,
    -- The phone as the ledgers know it (separators removed, 00 read as +), null where it is no phone number.
    add column phone_normal text generated always as (
        case
            when regexp_replace(regexp_replace(phone, '[ ().-]', '', 'g'), '^00', '+') ~ '^\+?[0-9]{5,15}$'
            then regexp_replace(regexp_replace(phone, '[ ().-]', '', 'g'), '^00', '+')
        end
    ) stored,
    add constraint users_deleted_via_known
        check (deleted_via in ('api', 'dashboard', 'import', 'system')),
    add constraint users_deletion_is_signed
        check ((deleted_at is null) = (deleted_by is null) and (deleted_at is null) = (deleted_via is null));

-- Addresses find their contacts. Not unique: people share addresses.
create index users_email on users (workspace_id, email) where deleted_at is null;
create index users_phone on users (workspace_id, phone_normal) where deleted_at is null;

-- Subscription lists: what a contact can subscribe to by name.
create table subscription_list (
    workspace_id uuid not null references workspace (id),
    id uuid not null,
    name text not null,
    description text not null default '',
    channels text[] not null default '{email}',
    is_public boolean not null default true,
    type text not null default 'marketing',
    require_double_opt_in boolean not null default false,
    is_default boolean not null default false,
    display_order integer not null,
    sender_id text,
    archived_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (workspace_id, id),
    constraint subscription_list_name_length check (char_length(name) between 1 and 255),
    constraint subscription_list_description_length check (char_length(description) <= 1000),
    constraint subscription_list_type_known check (type in ('marketing', 'transactional')),
    constraint subscription_list_channels_known
        check (channels <@ array['email', 'sms', 'whatsapp', 'push', 'viber'])
);

create unique index subscription_list_name_unique
    on subscription_list (workspace_id, lower(btrim(name))) where archived_at is null;
create unique index subscription_list_default_unique
    on subscription_list (workspace_id) where is_default;

-- Consent by channel. `status` is null while only bounces are known.
create table channel_consent (
    workspace_id uuid not null,
    user_id bytea not null,
    channel text not null,
    status text,
    opt_in_date timestamptz,
    opt_out_date timestamptz,
    opt_in_source text,
    consent_text text,
    is_valid boolean not null default true,
    bounce_type text,
    bounce_count integer not null default 0,
    last_bounce_at timestamptz,
    updated_at timestamptz not null,
    primary key (workspace_id, user_id, channel),
    foreign key (workspace_id, user_id) references users (workspace_id, id),
    constraint channel_consent_channel_known
        check (channel in ('email', 'sms', 'whatsapp', 'push', 'viber')),
    constraint channel_consent_status_known
        check (status in ('optedIn', 'subscribed', 'unsubscribed')),
    constraint channel_consent_bounce_known check (bounce_type in ('hard', 'soft')),
    constraint channel_consent_bounces_are_of_email
        check (channel = 'email' or (is_valid and bounce_type is null and bounce_count = 0))
);

-- Membership: one row a contact, list and channel.
create table list_membership (
    workspace_id uuid not null,
    id uuid not null,
    list_id uuid not null,
    user_id bytea not null,
    channel text not null,
    status text not null,
    subscribed_at timestamptz,
    opt_in_source text,
    consent_text text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (workspace_id, user_id, list_id, channel),
    foreign key (workspace_id, user_id) references users (workspace_id, id),
    foreign key (workspace_id, list_id) references subscription_list (workspace_id, id),
    constraint list_membership_id_unique unique (workspace_id, id),
    constraint list_membership_channel_known
        check (channel in ('email', 'sms', 'whatsapp', 'push', 'viber')),
    constraint list_membership_status_known check (status in ('subscribed', 'unsubscribed'))
);

create index list_membership_of_list on list_membership (workspace_id, list_id, channel, status);
create index list_membership_newest on list_membership (workspace_id, list_id, created_at desc, id desc);

-- What became of consent, every write of it, the ones that changed nothing included.
create table subscription_history (
    workspace_id uuid not null,
    id uuid not null,
    user_id bytea not null,
    channel text not null,
    -- Of a change to a list's membership; null for one of a channel.
    list_id uuid,
    action text not null,
    previous_status text,
    new_status text,
    source text not null,
    actor text not null,
    ip_address text,
    user_agent text,
    consent_text text,
    metadata jsonb not null default '{}',
    created_at timestamptz not null,
    primary key (workspace_id, id),
    foreign key (workspace_id, user_id) references users (workspace_id, id),
    foreign key (workspace_id, list_id) references subscription_list (workspace_id, id),
    constraint subscription_history_action_known check (action in (
        'subscribe', 'unsubscribe', 'resubscribe', 'bounce', 'hard_bounce', 'soft_bounce', 'complaint',
        'import', 'api_update'))
);

create index subscription_history_newest
    on subscription_history (workspace_id, user_id, created_at desc, id desc);

-- Addresses and numbers that get no message, whoever has them. `identifier` is normalised.
create table suppression (
    workspace_id uuid not null references workspace (id),
    id uuid not null,
    channel text not null,
    identifier text not null,
    reason text not null,
    source text not null,
    scope text not null,
    list_id uuid,
    created_at timestamptz not null,
    primary key (workspace_id, id),
    foreign key (workspace_id, list_id) references subscription_list (workspace_id, id),
    constraint suppression_unique
        unique nulls not distinct (workspace_id, channel, identifier, reason, scope, list_id),
    constraint suppression_channel_known check (channel in ('email', 'sms', 'whatsapp')),
    constraint suppression_reason_known
        check (reason in ('unsubscribe', 'hard_bounce', 'complaint', 'manual')),
    constraint suppression_group_has_a_list check ((scope = 'group') = (list_id is not null)),
    constraint suppression_scope_known check (scope in ('global', 'group')),
    constraint suppression_bounces_are_of_email check (channel = 'email' or reason <> 'hard_bounce')
);

create index suppression_newest on suppression (workspace_id, channel, created_at desc, id desc);

-- The page on which recipients choose; a workspace without a row has the built-in one.
create table preference_template (
    workspace_id uuid primary key references workspace (id),
    mode text not null,
    html text not null,
    redirect_url text not null,
    design_json jsonb,
    updated_at timestamptz not null,
    constraint preference_template_mode_known check (mode in ('default', 'custom', 'dnd', 'redirect')),
    constraint preference_template_design_is_of_dnd check (mode = 'dnd' or design_json is null)
);

-- Keys that sign the links in messages. In the database, so that every server knows them and a link
-- outlives any server's files; a new row rotates, old ones keep the links that were sent working.
create table link_key (
    id smallint primary key,
    secret bytea not null,
    created_at timestamptz not null default now(),
    constraint link_key_is_32_bytes check (octet_length(secret) = 32)
);

insert into link_key (id, secret)
values (1, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- What every workspace begins with: the default list, and the opt-outs that follow phone numbers
-- across its organization. In the database, so that no way of making a workspace can miss it.
create function workspace_begins() returns trigger language plpgsql as $$
begin
    insert into subscription_list (workspace_id, id, name, is_default, display_order, created_at, updated_at)
    values (new.id, gen_random_uuid(), 'Marketing', true, 1, new.created_at, new.created_at);

    insert into suppression (workspace_id, id, channel, identifier, reason, source, scope, created_at)
    select new.id, gen_random_uuid(), s.channel, s.identifier, s.reason, min(s.source), s.scope, min(s.created_at)
    from suppression s
    join workspace w on w.id = s.workspace_id
    where w.organization_id = new.organization_id
        and s.channel in ('sms', 'whatsapp') and s.reason = 'unsubscribe' and s.scope = 'global'
    group by s.channel, s.identifier, s.reason, s.scope;
    return null;
end
$$;

create trigger workspace_begun after insert on workspace
    for each row execute function workspace_begins();

insert into subscription_list (workspace_id, id, name, is_default, display_order, created_at, updated_at)
select id, gen_random_uuid(), 'Marketing', true, 1, created_at, created_at from workspace;
