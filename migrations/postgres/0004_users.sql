-- Profiles as they are listed, looked up and counted.

-- The list, newest change first.
create index users_newest on users (workspace_id, updated_at desc, id desc) where deleted_at is null;

-- Look-ups that also find by the beginning of a text, whatever the database's collation is.
drop index users_external_id_unique;
create unique index users_external_id_unique
    on users (workspace_id, external_id text_pattern_ops) where deleted_at is null;
drop index users_email;
create index users_email on users (workspace_id, email text_pattern_ops)
    where deleted_at is null and email is not null;
drop index users_phone;
create index users_phone on users (workspace_id, phone_normal text_pattern_ops)
    where deleted_at is null and phone_normal is not null;
-- External ids are told apart by case but found without; few of them have any.
create index users_external_id_cased on users (workspace_id, lower(external_id) text_pattern_ops)
    where deleted_at is null and external_id <> lower(external_id);

-- The recycle bin, latest first and by the beginning of an identifier.
create index users_deleted_newest on users (workspace_id, deleted_at desc, id desc)
    where deleted_at is not null;
create index users_deleted_email on users (workspace_id, email text_pattern_ops)
    where deleted_at is not null;
create index users_deleted_external_id on users (workspace_id, lower(external_id) text_pattern_ops)
    where deleted_at is not null;
create index users_deleted_phone on users (workspace_id, coalesce(phone_normal, phone))
    where deleted_at is not null;

-- How many profiles a workspace has, as changes to be added up. Each statement appends what it
-- changed, so that no two wait for each other; now and then one adds up what it finds and leaves
-- a single row in its place.
create table user_tally (
    workspace_id uuid not null references workspace (id),
    active bigint not null,
    deleted bigint not null
);

create index user_tally_workspace on user_tally (workspace_id);

-- Adds up the rows of a workspace that nobody else holds.
create function user_tally_fold(workspace uuid) returns void language sql as $$
    with folded as (
        delete from user_tally
        where ctid = any(array(
            select ctid from user_tally where workspace_id = workspace for update skip locked))
        returning active, deleted
    )
    insert into user_tally (workspace_id, active, deleted)
    select workspace, sum(active), sum(deleted) from folded having count(*) > 0;
$$;

create function users_inserted() returns trigger language plpgsql as $$
begin
    insert into user_tally (workspace_id, active, deleted)
    select workspace_id, count(*) filter (where deleted_at is null), count(deleted_at)
    from inserted
    group by workspace_id;
    if random() < 1.0 / 64 then
        perform user_tally_fold(workspace_id) from (select distinct workspace_id from inserted) w;
    end if;
    return null;
end
$$;

create trigger users_inserted after insert on users
    referencing new table as inserted
    for each statement execute function users_inserted();

-- Moves to the bin and back, and what is erased for good: rare, so each row tells of itself.
create function users_moved() returns trigger language plpgsql as $$
declare
    workspace uuid = old.workspace_id;
    active bigint = 0;
    deleted bigint = 0;
begin
    if old.deleted_at is null then active = -1; else deleted = -1; end if;
    if tg_op = 'UPDATE' then
        if new.deleted_at is null then active = active + 1; else deleted = deleted + 1; end if;
    end if;
    insert into user_tally (workspace_id, active, deleted) values (workspace, active, deleted);
    if random() < 1.0 / 64 then
        perform user_tally_fold(workspace);
    end if;
    return null;
end
$$;

create trigger users_moved after update of deleted_at on users
    for each row when ((old.deleted_at is null) <> (new.deleted_at is null))
    execute function users_moved();

create trigger users_erased after delete on users
    for each row execute function users_moved();

insert into user_tally (workspace_id, active, deleted)
select workspace_id, count(*) filter (where deleted_at is null), count(deleted_at)
from users
group by workspace_id;
