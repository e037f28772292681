-- After how many days data of a workspace is deleted; null: as the settings say, 0: never.
alter table workspace
    add column events_days integer,
    add column message_events_days integer,
    add column deleted_profiles_days integer,
    add constraint workspace_retention_days_are_none_or_some
        check (least(events_days, message_events_days, deleted_profiles_days) >= 0);

-- When retention last looked at the clock, and until when it waits because the clock jumped ahead.
create table retention_clock (
    id smallint primary key default 1 check (id = 1),
    seen_at timestamptz not null,
    held_until timestamptz
);

insert into retention_task (name) values ('data');
