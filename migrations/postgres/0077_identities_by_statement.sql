-- Identifiers wait to be copied in the same way, and a profile is queued once for all identifiers of a statement. A file of its
-- own, so that each waits for calls that write into one queue only: calls take the two in different orders.
--
-- The release before has no such queue.

-- `versions` are those of a row, the largest `version` among them, or none where that is the only one.
alter table identity_change add column versions bigint[];

create or replace function identity_inserted() returns trigger language plpgsql as $$
begin
    insert into identity_change (version, workspace_id, versions)
    select max(version), workspace_id, array_agg(version)
    from (select workspace_id, version, (row_number() over () - 1) / 100 as part from changed) c
    group by workspace_id, part;
    insert into people_change (workspace_id, user_ids)
    select workspace_id, array_agg(user_id)
    from (
        select workspace_id, user_id, (row_number() over () - 1) / 100 as part
        from (select distinct workspace_id, user_id from changed where type = 'anonymous') d
    ) c
    group by workspace_id, part;
    return null;
end
$$;

create or replace function identity_updated_changed() returns trigger language plpgsql as $$
begin
    insert into identity_change (version, workspace_id, versions)
    select max(version), workspace_id, array_agg(version)
    from (
        select workspace_id, version, (row_number() over () - 1) / 100 as part
        from (
            select workspace_id, version from changed
            except
            select workspace_id, version from before
        ) d
    ) c
    group by workspace_id, part;
    if found then
        insert into people_change (workspace_id, user_ids)
        select workspace_id, array_agg(user_id)
        from (
            select workspace_id, user_id, (row_number() over () - 1) / 100 as part
            from (
                select workspace_id, user_id from before where type = 'anonymous'
                union
                select workspace_id, user_id from changed where type = 'anonymous'
            ) d
        ) c
        group by workspace_id, part;
    end if;
    return null;
end
$$;
