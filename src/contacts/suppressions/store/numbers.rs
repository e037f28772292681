//! Rows of the ledgers of phone numbers, by the spelling of the number.

use kernel::{Result, Tenant, WorkspaceId};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::model::Renumbered;

/// A row under a number without a country.
#[derive(Debug)]
pub(crate) struct NationalRow {
    pub(crate) id: Uuid,
    pub(crate) number: String,
}

/// A page of such rows, by id.
pub(crate) async fn national(
    db: &PgPool,
    workspace: WorkspaceId,
    after: Option<Uuid>,
    limit: i64,
) -> Result<Vec<NationalRow>> {
    let rows = sqlx::query_as!(
        NationalRow,
        "select id, identifier as number
         from suppression
         where workspace_id = $1 and ($2::uuid is null or id > $2)
             and channel in ('sms', 'whatsapp') and identifier not like '+%'
         order by id
         limit $3",
        workspace.uuid(),
        after,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// A page of what was removed under such numbers, by id.
pub(crate) async fn national_removals(
    db: &PgPool,
    workspace: WorkspaceId,
    after: Option<Uuid>,
    limit: i64,
) -> Result<Vec<NationalRow>> {
    let rows = sqlx::query_as!(
        NationalRow,
        "select id, identifier as number
         from suppression_removal
         where workspace_id = $1 and ($2::uuid is null or id > $2)
             and channel in ('sms', 'whatsapp') and identifier not like '+%'
         order by id
         limit $3",
        workspace.uuid(),
        after,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// Moves what was removed to other spellings of its numbers.
pub(crate) async fn move_removals(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    ids: &[Uuid],
    numbers: &[&str],
) -> Result<()> {
    sqlx::query!(
        "update suppression_removal r
         set identifier = n.number
         from unnest($2::uuid[], $3::text[]) as n (id, number)
         where r.workspace_id = $1 and r.id = n.id",
        workspace.uuid(),
        ids,
        numbers as _,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Copies rows from one spelling of a number to another: opt-outs into all workspaces of the organization, others within
/// the workspace.
pub(crate) async fn copy(
    connection: &mut PgConnection,
    tenant: Tenant,
    renumbered: &[Renumbered<'_>],
) -> Result<()> {
    let old: Vec<&str> = renumbered.iter().map(|one| one.from).collect();
    let new: Vec<&str> = renumbered.iter().map(|one| one.to).collect();
    sqlx::query!(
        "insert into suppression
             (workspace_id, id, channel, identifier, reason, source, scope, list_id, created_at, actor)
         select w.id, gen_random_uuid(), s.channel, n.new, s.reason, s.source, s.scope, s.list_id, s.created_at,
             case when w.id = $1 then s.actor end
         from unnest($3::text[], $4::text[]) as n (old, new)
         join suppression s on s.workspace_id = $1 and s.channel in ('sms', 'whatsapp') and s.identifier = n.old
         join workspace w on w.organization_id = $2
             and (w.id = $1 or (s.reason = 'unsubscribe' and s.scope = 'global'))
         order by w.id, s.channel, n.new
         on conflict do nothing",
        tenant.workspace.uuid(),
        tenant.organization.uuid(),
        &old as _,
        &new as _,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes rows that were copied. They were not removed, so they leave nothing in the history.
pub(crate) async fn delete_copied(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    ids: &[Uuid],
) -> Result<()> {
    sqlx::query!(
        "with moved as (
             select id from suppression where workspace_id = $1 and id = any($2)
             order by channel, identifier, reason
             for update)
         delete from suppression s
         using moved m
         where s.workspace_id = $1 and s.id = m.id",
        workspace.uuid(),
        ids,
    )
    .execute(&mut *connection)
    .await?;
    // A trigger has kept them.
    sqlx::query!(
        "delete from suppression_removal where workspace_id = $1 and id = any($2)",
        workspace.uuid(),
        ids,
    )
    .execute(connection)
    .await?;
    Ok(())
}
