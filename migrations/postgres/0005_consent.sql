-- What consent needs beyond its tables.

-- The order in which entries of one contact were written, whatever the clocks said: writes of a contact
-- wait for each other, so a number taken inside is in their order.
alter table subscription_history add column seq bigint generated always as identity;

drop index subscription_history_newest;
create index subscription_history_newest on subscription_history (workspace_id, user_id, seq desc);

-- Subscriptions that wait for a click on the link in a message. The membership's row is absent until then.
create table pending_membership (
    workspace_id uuid not null,
    user_id bytea not null,
    list_id uuid not null,
    channel text not null,
    source text not null,
    consent_text text,
    requested_at timestamptz not null,
    expires_at timestamptz not null,
    primary key (workspace_id, user_id, list_id, channel),
    foreign key (workspace_id, user_id) references users (workspace_id, id),
    foreign key (workspace_id, list_id) references subscription_list (workspace_id, id),
    constraint pending_membership_channel_known
        check (channel in ('email', 'sms', 'whatsapp', 'push', 'viber'))
);

-- An opt-out that is written to every workspace of an organization, and a workspace that is being made,
-- wait for each other: opt-outs share the organization's row, a new workspace takes it alone. Without
-- that, neither would see the other's rows.
create or replace function workspace_begins() returns trigger language plpgsql as $$
begin
    perform 1 from organization where id = new.organization_id for no key update;

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
