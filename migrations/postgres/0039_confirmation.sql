-- When somebody whose subscription waits was last sent the link that confirms it.
alter table pending_membership add column asked_at timestamptz;

create index pending_membership_unasked on pending_membership (requested_at)
    where asked_at is null or asked_at < requested_at;
