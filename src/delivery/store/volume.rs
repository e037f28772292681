//! Use of volume limits, and the reserve: messages that replace those which are skipped or fail.
//!
//! A message counts while it is `sending`, `sent` or `unknown`. A sender locks the counter of the limit first, so that
//! several processes never exceed it together.

use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use sqlx::PgConnection;

use super::scope::{MessageScope, RunKey};

/// The queued message of a scope that is due first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct First {
    pub(crate) occurrence: i32,
    pub(crate) due: Timestamp,
    /// Whether it is in the reserve; then all queued messages of the scope are.
    pub(crate) is_reserved: bool,
}

/// Locks the counter of a limit until the transaction ends, and reads it. None if there is no counter yet while messages
/// are in flight: they can be counted only when they are settled.
pub(crate) async fn lock(
    connection: &mut PgConnection,
    scope: MessageScope,
) -> Result<Option<i64>> {
    if let Some(used) = locked(connection, scope).await? {
        return Ok(Some(used));
    }
    if is_in_flight(connection, scope).await? {
        return Ok(None);
    }
    sqlx::query!(
        "insert into campaign_volume (workspace_id, campaign_id, occurrence, used)
         values ($1, $2, coalesce($3, -1), $4)
         on conflict do nothing",
        scope.workspace.uuid(),
        scope.campaign.uuid(),
        scope.occurrence,
        count(connection, scope).await?,
    )
    .execute(&mut *connection)
    .await?;
    locked(connection, scope).await
}

async fn locked(connection: &mut PgConnection, scope: MessageScope) -> Result<Option<i64>> {
    let used = sqlx::query_scalar!(
        "select used from campaign_volume
         where workspace_id = $1 and campaign_id = $2 and occurrence = coalesce($3, -1)
         for update",
        scope.workspace.uuid(),
        scope.campaign.uuid(),
        scope.occurrence,
    )
    .fetch_optional(connection)
    .await?;
    Ok(used)
}

/// Locks the counters of a campaign that no longer has a limit; returns whether there are any.
pub(crate) async fn lock_kept(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: CampaignId,
) -> Result<bool> {
    let kept = sqlx::query_scalar!(
        "select occurrence from campaign_volume
         where workspace_id = $1 and campaign_id = $2
         order by occurrence
         for update",
        workspace.uuid(),
        campaign.uuid(),
    )
    .fetch_all(connection)
    .await?;
    Ok(!kept.is_empty())
}

/// Reads the counter of a limit without a lock.
pub(crate) async fn used(connection: &mut PgConnection, scope: MessageScope) -> Result<i64> {
    let kept = sqlx::query_scalar!(
        "select used from campaign_volume
         where workspace_id = $1 and campaign_id = $2 and occurrence = coalesce($3, -1)",
        scope.workspace.uuid(),
        scope.campaign.uuid(),
        scope.occurrence,
    )
    .fetch_optional(&mut *connection)
    .await?;
    match kept {
        Some(used) => Ok(used),
        None => count(connection, scope).await,
    }
}

async fn count(connection: &mut PgConnection, scope: MessageScope) -> Result<i64> {
    let used = sqlx::query_scalar!(
        r#"select (
               select count(*) from message
               where workspace_id = $1 and campaign_id = $2 and purpose = 'campaign'
                   and ($3::integer is null or occurrence = $3)
                   and status in ('sent', 'sending', 'unknown'))
             + coalesce((
               select sends from campaign_deleted_sends
               where workspace_id = $1 and campaign_id = $2 and $3::integer is null), 0)
               as "used!""#,
        scope.workspace.uuid(),
        scope.campaign.uuid(),
        scope.occurrence,
    )
    .fetch_one(connection)
    .await?;
    Ok(used)
}

/// Counts messages that are about to be sent, by their occurrences, in every counter of the campaign.
pub(crate) async fn reserve(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: CampaignId,
    occurrences: &[i32],
) -> Result<()> {
    add(connection, workspace, campaign, occurrences, 1).await
}

/// Takes messages that were not sent off the counters.
pub(crate) async fn give_back(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: CampaignId,
    occurrences: &[i32],
) -> Result<()> {
    add(connection, workspace, campaign, occurrences, -1).await
}

async fn add(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: CampaignId,
    occurrences: &[i32],
    each: i32,
) -> Result<()> {
    if occurrences.is_empty() {
        return Ok(());
    }
    // Without a join: after waiting for another transaction, PostgreSQL reads the updated row again, but not the rows of
    // joined tables.
    sqlx::query!(
        "update campaign_volume
         set used = used + $4 * case occurrence
             when -1 then cardinality($3::integer[])
             else cardinality(array_positions($3::integer[], occurrence)) end
         where workspace_id = $1 and campaign_id = $2
             and (occurrence = -1 or occurrence = any($3::integer[]))",
        workspace.uuid(),
        campaign.uuid(),
        occurrences,
        each,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Whether messages of a scope are being sent.
pub(crate) async fn is_in_flight(
    connection: &mut PgConnection,
    scope: MessageScope,
) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"select exists (
               select from message
               where workspace_id = $1 and campaign_id = $2 and due_at is not null
                   and ($3::integer is null or occurrence = $3) and status = 'sending') as "found!""#,
        scope.workspace.uuid(),
        scope.campaign.uuid(),
        scope.occurrence,
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}

/// The queued message of a scope that is due first.
pub(crate) async fn first(
    connection: &mut PgConnection,
    scope: MessageScope,
) -> Result<Option<First>> {
    let row = sqlx::query!(
        r#"select occurrence, due_at as "due_at!", reserved_from is not null as "is_reserved!"
           from message
           where workspace_id = $1 and campaign_id = $2 and due_at is not null and status = 'queued'
               and ($3::integer is null or occurrence = $3)
           order by due_at
           limit 1"#,
        scope.workspace.uuid(),
        scope.campaign.uuid(),
        scope.occurrence,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| First {
        occurrence: row.occurrence,
        due: row.due_at.into(),
        is_reserved: row.is_reserved,
    }))
}

/// The first queued message of a run beyond `room` others, in the order of ids, which is random.
pub(crate) async fn first_beyond(
    connection: &mut PgConnection,
    RunKey { workspace, campaign, occurrence }: RunKey,
    room: i64,
) -> Result<Option<uuid::Uuid>> {
    let id = sqlx::query_scalar!(
        "select id from message
         where workspace_id = $1 and campaign_id = $2 and occurrence = $3 and purpose = 'campaign'
             and status = 'queued' and reserved_from is null and not is_control
         order by id
         offset $4
         limit 1",
        workspace.uuid(),
        campaign.uuid(),
        occurrence,
        room.max(0),
    )
    .fetch_optional(connection)
    .await?;
    Ok(id)
}

/// Moves up to `limit` queued messages of a run, the control group excepted, to the reserve, from `first` on in the order of ids; returns how many.
pub(crate) async fn move_to_reserve(
    connection: &mut PgConnection,
    RunKey { workspace, campaign, occurrence }: RunKey,
    first: uuid::Uuid,
    limit: i64,
) -> Result<u64> {
    let done = sqlx::query!(
        "update message m
         set reserved_from = m.due_at, code = 'volume_limit',
             due_at = timestamptz '5000-01-01 00:00:00+00'
                 + make_interval(secs => ('x' || left(m.id::text, 8))::bit(32)::bigint)
         where m.workspace_id = $1 and m.id in (
             select id from message
             where workspace_id = $1 and campaign_id = $2 and occurrence = $3 and id >= $4
                 and purpose = 'campaign' and status = 'queued' and reserved_from is null
                 and not is_control
             limit $5
             for update skip locked)",
        workspace.uuid(),
        campaign.uuid(),
        occurrence,
        first,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Takes up to `limit` messages of a scope out of the reserve.
pub(crate) async fn use_reserve(
    connection: &mut PgConnection,
    scope: MessageScope,
    limit: i64,
) -> Result<u64> {
    let done = sqlx::query!(
        "update message m
         set due_at = m.reserved_from, reserved_from = null, code = null
         where m.workspace_id = $1 and m.id in (
             select id from message
             where workspace_id = $1 and campaign_id = $2 and due_at >= '5000-01-01 00:00:00+00'
                 and ($3::integer is null or occurrence = $3)
                 and status = 'queued' and reserved_from is not null
             order by due_at
             limit $4
             for update skip locked)",
        scope.workspace.uuid(),
        scope.campaign.uuid(),
        scope.occurrence,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
