//! The queues with work, read from the index of due messages alone: one step per campaign, however many messages it
//! has.

use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use sqlx::PgExecutor;

/// A campaign that has messages which are not settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsettled {
    pub(crate) workspace: WorkspaceId,
    pub(crate) campaign: CampaignId,
    /// Whether it was cancelled.
    pub(crate) is_cancelled: bool,
    /// When the first of them is due.
    pub(crate) due: Timestamp,
    /// Whether all of them are in the reserve of a volume limit.
    pub(crate) are_reserved: bool,
}

/// Sending or cancelled campaigns with messages that are not settled.
pub(crate) async fn unsettled(db: impl PgExecutor<'_>) -> Result<Vec<Unsettled>> {
    let rows = sqlx::query!(
        r#"with recursive lane as (
               (select workspace_id, campaign_id
                from message
                where due_at is not null and campaign_id is not null
                order by workspace_id, campaign_id
                limit 1)
               union all
               select next.workspace_id, next.campaign_id
               from lane
               cross join lateral (
                   select m.workspace_id, m.campaign_id
                   from message m
                   where m.due_at is not null and m.campaign_id is not null
                       and (m.workspace_id, m.campaign_id) > (lane.workspace_id, lane.campaign_id)
                   order by m.workspace_id, m.campaign_id
                   limit 1) next
           )
           select lane.workspace_id as "workspace_id!", lane.campaign_id as "campaign_id!", c.status,
               first.due_at as "due_at!", first.is_reserved as "is_reserved!"
           from lane
           join campaign c on c.workspace_id = lane.workspace_id and c.id = lane.campaign_id
           cross join lateral (
               select m.due_at, m.reserved_from is not null as is_reserved
               from message m
               where m.workspace_id = lane.workspace_id and m.campaign_id = lane.campaign_id
                   and m.due_at is not null
               order by m.due_at
               limit 1) first
           where c.status in ('active', 'completed', 'cancelled')"#,
    )
    .fetch_all(db)
    .await?;
    let unsettled = rows.into_iter().map(|row| Unsettled {
        workspace: WorkspaceId::new(row.workspace_id),
        campaign: CampaignId::new(row.campaign_id),
        is_cancelled: row.status == "cancelled",
        due: row.due_at.into(),
        are_reserved: row.is_reserved,
    });
    Ok(unsettled.collect())
}

/// When the first message of no campaign is due.
pub(crate) async fn outbox_due(db: impl PgExecutor<'_>) -> Result<Option<Timestamp>> {
    let due = sqlx::query_scalar!(
        "select due_at from message
         where due_at is not null and campaign_id is null and status = 'queued'
         order by due_at
         limit 1"
    )
    .fetch_optional(db)
    .await?;
    Ok(due.flatten().map(Timestamp::from))
}

/// How many messages are due, counted up to `limit`, and since when the oldest is due: the backlog metrics.
pub(crate) async fn depth(
    db: impl PgExecutor<'_>,
    now: Timestamp,
    limit: i64,
) -> Result<(i64, Option<Timestamp>)> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(due_at) as oldest
           from (
               select m.due_at from message m
               left join campaign c on c.workspace_id = m.workspace_id and c.id = m.campaign_id
               where m.due_at <= $1 and (m.campaign_id is null or c.status in ('active', 'completed'))
               limit $2) due"#,
        now.utc(),
        limit,
    )
    .fetch_one(db)
    .await?;
    Ok((row.waiting, row.oldest.map(Timestamp::from)))
}
