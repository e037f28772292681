-- Finding profiles by a part of their name.
--
-- The names stand in a table of their own, so that the many changes of a profile that leave its name
-- alone do not touch this index.

create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- What a profile is searched by: first and last name, in lower case.
create function user_name_of(attributes jsonb) returns text language sql immutable parallel safe as $$
    select lower(btrim(coalesce(attributes->>'firstName', '') || ' ' || coalesce(attributes->>'lastName', '')))
$$;

create table user_name (
    workspace_id uuid not null,
    user_id bytea not null,
    name text not null,
    primary key (workspace_id, user_id),
    foreign key (workspace_id, user_id) references users (workspace_id, id) on delete cascade
);

create index user_name_parts on user_name using gin (workspace_id, name gin_trgm_ops);

create function users_inserted_named() returns trigger language plpgsql as $$
begin
    insert into user_name (workspace_id, user_id, name)
    select workspace_id, id, user_name_of(attributes)
    from inserted
    where deleted_at is null and user_name_of(attributes) <> '';
    return null;
end
$$;

create trigger users_inserted_named after insert on users
    referencing new table as inserted
    for each statement execute function users_inserted_named();

create function users_renamed() returns trigger language plpgsql as $$
begin
    delete from user_name where workspace_id = new.workspace_id and user_id = new.id;
    if new.deleted_at is null and user_name_of(new.attributes) <> '' then
        insert into user_name (workspace_id, user_id, name)
        values (new.workspace_id, new.id, user_name_of(new.attributes));
    end if;
    return null;
end
$$;

create trigger users_renamed after update of attributes, deleted_at on users
    for each row
    when (old.attributes->>'firstName' is distinct from new.attributes->>'firstName'
        or old.attributes->>'lastName' is distinct from new.attributes->>'lastName'
        or (old.deleted_at is null) <> (new.deleted_at is null))
    execute function users_renamed();

insert into user_name (workspace_id, user_id, name)
select workspace_id, id, user_name_of(attributes)
from users
where deleted_at is null and user_name_of(attributes) <> '';
