-- Whether a queued message is of the control group: it waits for its time like the others, and nothing is sent then.
alter table message
    add column is_control boolean not null default false;
