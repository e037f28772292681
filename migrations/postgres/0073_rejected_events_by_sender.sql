-- Refused events by the class of their senders: anyone can send with a public key, so that those of servers are kept apart.

alter table rejected_event add column is_public boolean not null default false;

-- The newest of either.
create index rejected_event_newest on rejected_event (workspace_id, is_public, rejected_at, id);
