-- What came back from providers and recipients and was acted on, so that a repeat of it is not. Only what
-- changes consent or the ledgers is kept here, and for a month: who repeats himself does so within days.
create table feedback_heard (
    workspace_id uuid not null,
    -- The message and what happened to it, or the teller's own id of what a recipient wrote.
    key text not null,
    heard_at timestamptz not null,
    primary key (workspace_id, key)
);

create index feedback_heard_oldest on feedback_heard (heard_at);

-- What an address was sent last, for bounces that name nothing but the address.
create index message_last_email on message (workspace_id, user_id, sent_at)
    where channel = 'email' and sent_at is not null;
