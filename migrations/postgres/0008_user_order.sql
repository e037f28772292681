-- Names in their order: what a name begins with, and names of one workspace read one by one until
-- enough of them match, which for a common part is sooner than to look all of its places up.
create index user_name_order on user_name (workspace_id, name text_pattern_ops) include (user_id);

-- Of the profiles with one address, the one that changed last. With the order in the index, no
-- planner that knows nothing of a young table yet looks for the address among all of its changes.
drop index users_email;
create index users_email on users (workspace_id, email text_pattern_ops, updated_at desc, id)
    where deleted_at is null and email is not null;
