-- Which credential added a row of the ledgers of suppressions, for the history of an identifier.

-- Null for rows of before, for those of the platform, and for opt-outs that came from another workspace of the organization:
-- a workspace does not learn the credentials of others.
alter table suppression add column actor text;
alter table suppression_removal add column actor text;

create or replace function suppressions_removed() returns trigger language plpgsql as $$
begin
    insert into suppression_removal
        (workspace_id, id, channel, identifier, reason, source, scope, list_id, created_at, actor,
         removed_at, removed_source, removed_actor)
    select r.workspace_id, r.id, r.channel, r.identifier, r.reason, r.source, r.scope, r.list_id, r.created_at, r.actor,
        greatest(r.created_at, date_trunc('milliseconds', clock_timestamp())),
        nullif(current_setting('millrace.removal_source', true), ''),
        case when r.workspace_id::text = current_setting('millrace.removal_workspace', true)
            then nullif(current_setting('millrace.removal_actor', true), '') end
    from removed r;
    return null;
end
$$;
