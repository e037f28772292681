//! Rows with consent reasons, inserted by opt-outs and deleted by opt-ins.

use kernel::{ListId, Result, Tenant, Timestamp};
use sqlx::PgConnection;

use crate::model::{LedgerAddress, OptOut};

/// Prevents new workspaces in the organization until the transaction ends: they would start without the rows
/// that are being written.
pub(crate) async fn hold_workspaces(connection: &mut PgConnection, tenant: Tenant) -> Result<()> {
    sqlx::query!(
        "select id from organization where id = $1 for share",
        tenant.organization.uuid(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(())
}

/// Inserts a row for each opt-out: in the workspace for an address, in all of the organization's for a number.
pub(crate) async fn insert_opt_outs(
    connection: &mut PgConnection,
    tenant: Tenant,
    now: Timestamp,
    opt_outs: &[OptOut],
) -> Result<()> {
    let channels: Vec<&str> = opt_outs.iter().map(|o| o.ledger.as_str()).collect();
    let identifiers: Vec<&str> = opt_outs.iter().map(|o| o.identifier.as_str()).collect();
    let sources: Vec<&str> = opt_outs.iter().map(|o| o.source.as_str()).collect();
    let actors: Vec<Option<&str>> = opt_outs.iter().map(|o| o.actor.as_deref()).collect();
    sqlx::query!(
        "insert into suppression (workspace_id, id, channel, identifier, reason, source, scope, created_at, actor)
         select w.id, gen_random_uuid(), o.channel, o.identifier, 'unsubscribe', o.source, 'global', $3,
             case when w.id = $1 then o.actor end
         from unnest($4::text[], $5::text[], $6::text[], $7::text[]) as o (channel, identifier, source, actor)
         join workspace w on w.organization_id = $2 and (w.id = $1 or o.channel <> 'email')
         order by w.id, o.channel, o.identifier
         on conflict do nothing",
        tenant.workspace.uuid(),
        tenant.organization.uuid(),
        now.utc(),
        &channels as _,
        &identifiers as _,
        &sources as _,
        &actors as _,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the global rows of an identifier with consent reasons, in every workspace in which an opt-out would
/// be mirrored; without `is_full` only the workspace's `unsubscribe` row.
pub(crate) async fn delete_consent(
    connection: &mut PgConnection,
    tenant: Tenant,
    is_full: bool,
    address: &LedgerAddress,
) -> Result<()> {
    let LedgerAddress { ledger, identifier } = address;
    sqlx::query!(
        "with cleared as (
             select s.workspace_id, s.id
             from suppression s
             where s.workspace_id in (
                     select w.id from workspace w
                     where w.organization_id = $2 and (w.id = $1 or ($3 <> 'email' and $5)))
                 and s.channel = $3 and s.identifier = $4 and s.scope = 'global'
                 and (s.reason = 'unsubscribe' or (s.reason = 'manual' and $5))
             order by s.workspace_id, s.channel, s.identifier, s.reason
             for update)
         delete from suppression s
         using cleared c
         where s.workspace_id = c.workspace_id and s.id = c.id",
        tenant.workspace.uuid(),
        tenant.organization.uuid(),
        ledger.as_str(),
        identifier.as_str(),
        is_full,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the rows of an identifier with consent reasons under one list; without `is_full` only the
/// `unsubscribe` row.
pub(crate) async fn delete_consent_of_list(
    connection: &mut PgConnection,
    tenant: Tenant,
    is_full: bool,
    list: ListId,
    address: &LedgerAddress,
) -> Result<()> {
    let LedgerAddress { ledger, identifier } = address;
    sqlx::query!(
        "with cleared as (
             select s.id
             from suppression s
             where s.workspace_id = $1 and s.channel = $2 and s.identifier = $3
                 and s.scope = 'group' and s.list_id = $4
                 and (s.reason = 'unsubscribe' or (s.reason = 'manual' and $5))
             order by s.reason
             for update)
         delete from suppression s
         using cleared c
         where s.workspace_id = $1 and s.id = c.id",
        tenant.workspace.uuid(),
        ledger.as_str(),
        identifier.as_str(),
        list.uuid(),
        is_full,
    )
    .execute(connection)
    .await?;
    Ok(())
}
