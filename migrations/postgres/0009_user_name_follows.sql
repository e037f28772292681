-- The names follow the profiles by triggers alone: each row is made and removed with its profile, so a
-- foreign key would check once more, at a fifth of the price of making profiles, what cannot differ.
alter table user_name drop constraint user_name_workspace_id_user_id_fkey;

create function users_erased_named() returns trigger language plpgsql as $$
begin
    delete from user_name where workspace_id = old.workspace_id and user_id = old.id;
    return null;
end
$$;

create trigger users_erased_named after delete on users
    for each row execute function users_erased_named();
