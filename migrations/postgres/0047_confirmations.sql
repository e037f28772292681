-- Opt-ins of a whole channel that wait for their person's word, and how many confirmations an address was sent.

create table pending_channel (
    workspace_id uuid not null,
    user_id bytea not null,
    channel text not null,
    -- What the person will have said once they confirm: 'optedIn' or 'subscribed'.
    status text not null,
    source text not null,
    consent_text text,
    requested_at timestamptz not null,
    expires_at timestamptz not null,
    -- When the person was last sent the link that confirms it.
    asked_at timestamptz,
    primary key (workspace_id, user_id, channel),
    foreign key (workspace_id, user_id) references users (workspace_id, id) on delete cascade,
    constraint pending_channel_channel_known
        check (channel in ('email', 'sms', 'whatsapp', 'push', 'viber')),
    constraint pending_channel_status_known check (status in ('optedIn', 'subscribed'))
);

create index pending_channel_unasked on pending_channel (requested_at)
    where asked_at is null or asked_at < requested_at;

-- Confirmations made for an address on a day (UTC).
create table confirmation_count (
    workspace_id uuid not null references workspace (id),
    -- The ledger that the address is of: 'email' or 'sms'.
    channel text not null,
    identifier text not null,
    day date not null,
    count integer not null,
    primary key (workspace_id, channel, identifier, day)
);

create index confirmation_count_day on confirmation_count (day);
