//! Volume limits: how much of one is used, and the messages kept in reserve for recipients that the gate
//! refuses.
//!
//! A message uses the limit while it is `sending`, `sent` or `unknown`. A sender under a limit locks the
//! counter first, so that several processes never exceed it together.

use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use sqlx::PgConnection;

/// What a limit counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    /// The wall around it.
    pub(crate) workspace: WorkspaceId,
    pub(crate) campaign: CampaignId,
    /// Which occurrence; none counts all of them.
    pub(crate) occurrence: Option<i32>,
}

/// The first message of a scope that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct First {
    pub(crate) occurrence: i32,
    /// When it is due.
    pub(crate) due: Timestamp,
    /// Whether it is kept in reserve; then no message of the scope waits that is not.
    pub(crate) is_reserved: bool,
}

/// Locks the counter of a limit until the transaction ends, and reads how much is used. None where there is no
/// counter yet and messages are in flight: they have to land before they can be counted.
pub(crate) async fn lock(connection: &mut PgConnection, scope: Scope) -> Result<Option<i64>> {
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

async fn locked(connection: &mut PgConnection, scope: Scope) -> Result<Option<i64>> {
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

/// Locks the counters of a campaign that has no limit any more; answers whether there are any.
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

/// How much of a limit is used, without a lock.
pub(crate) async fn used(connection: &mut PgConnection, scope: Scope) -> Result<i64> {
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

async fn count(connection: &mut PgConnection, scope: Scope) -> Result<i64> {
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

/// Counts messages that are about to be sent, by their occurrences, in every counter that the campaign has.
pub(crate) async fn reserve(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: CampaignId,
    occurrences: &[i32],
) -> Result<()> {
    add(connection, (workspace, campaign), occurrences, 1).await
}

/// Takes messages off the counters again that were not sent.
pub(crate) async fn give_back(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: CampaignId,
    occurrences: &[i32],
) -> Result<()> {
    add(connection, (workspace, campaign), occurrences, -1).await
}

async fn add(
    connection: &mut PgConnection,
    (workspace, campaign): (WorkspaceId, CampaignId),
    occurrences: &[i32],
    each: i32,
) -> Result<()> {
    if occurrences.is_empty() {
        return Ok(());
    }
    // Nothing is joined here: where this waits for another transaction, the row is looked at again with what that
    // made of it, and of other tables nothing would be read anew.
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
pub(crate) async fn is_in_flight(connection: &mut PgConnection, scope: Scope) -> Result<bool> {
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

/// The message of a scope that is due first.
pub(crate) async fn first(connection: &mut PgConnection, scope: Scope) -> Result<Option<First>> {
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

/// The first message of an occurrence beyond so many, of those that wait, in the order of their ids: an order of
/// chance.
pub(crate) async fn first_beyond(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    (campaign, occurrence): (CampaignId, i32),
    room: i64,
) -> Result<Option<uuid::Uuid>> {
    let id = sqlx::query_scalar!(
        "select id from message
         where workspace_id = $1 and campaign_id = $2 and occurrence = $3 and purpose = 'campaign'
             and status = 'queued' and reserved_from is null
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

/// Keeps messages of an occurrence in reserve from this one on, in the order of their ids; so many at most. Answers
/// how many it were.
pub(crate) async fn keep_in_reserve(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    (campaign, occurrence): (CampaignId, i32),
    (first, limit): (uuid::Uuid, i64),
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

/// Takes messages of a scope out of the reserve, so many at most.
pub(crate) async fn use_reserve(
    connection: &mut PgConnection,
    scope: Scope,
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
