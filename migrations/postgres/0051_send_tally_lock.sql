-- One lock for each person and channel, for what frequency caps count. Tallies have one row an hour, so locking
-- those would not stop two senders from exceeding a cap together while one hour ends and the next begins.

create table send_tally_lock (
    workspace_id uuid not null,
    user_id bytea not null,
    channel text not null,
    primary key (workspace_id, user_id, channel)
);
