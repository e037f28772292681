-- That a profile's workspace exists is asked once a statement, not once a row: locking one row of
-- `workspace` a thousand times took a third of the time of making a thousand profiles.
--
-- A workspace with profiles cannot go away under them: its default list, which refers to it, comes with
-- it and is never deleted. And no profile moves to another one.

alter table users drop constraint users_workspace_id_fkey;

create function users_inserted_into_workspaces() returns trigger language plpgsql as $$
declare
    named bigint;
    known bigint;
begin
    select count(distinct workspace_id) into named from inserted;
    perform from workspace where id in (select workspace_id from inserted) for key share;
    get diagnostics known = row_count;
    if known < named then
        raise foreign_key_violation using message = 'a profile names a workspace that does not exist',
            table = 'users', constraint = 'users_workspace_exists';
    end if;
    return null;
end
$$;

create trigger users_inserted_into_workspaces after insert on users
    referencing new table as inserted
    for each statement execute function users_inserted_into_workspaces();

create function users_stay() returns trigger language plpgsql as $$
begin
    raise foreign_key_violation using message = 'a profile stays in its workspace',
        table = 'users', constraint = 'users_stay';
end
$$;

create trigger users_stay before update of workspace_id on users
    for each row when (old.workspace_id <> new.workspace_id) execute function users_stay();
