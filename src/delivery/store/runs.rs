//! Runs of campaigns, from the materialisation of their audiences until their messages are settled.

use kernel::{CampaignId, Error, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use super::scope::RunKey;

/// A run of a campaign, claimed by one writer.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) workspace: WorkspaceId,
    pub(crate) campaign: CampaignId,
    pub(crate) occurrence: i32,
    pub(crate) started: Timestamp,
    /// Each profile up to this id has a message.
    pub(crate) after: Option<UserId>,
    pub(crate) is_written: bool,
    /// Whether failed messages are to be queued again.
    pub(crate) is_retried: bool,
}

impl Run {
    pub(crate) const fn key(&self) -> RunKey {
        RunKey { workspace: self.workspace, campaign: self.campaign, occurrence: self.occurrence }
    }
}

/// The claim of a writer on a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hold {
    pub(crate) by: Uuid,
    /// The end of the claim; every page renews it.
    pub(crate) until: Timestamp,
}

/// Claims the oldest unclaimed run whose audience is to be materialised. Failed messages are not queued again while
/// messages are in flight that may still fail.
pub(crate) async fn take(
    db: impl PgExecutor<'_>,
    hold: Hold,
    now: Timestamp,
) -> Result<Option<Run>> {
    let row = sqlx::query!(
        r#"update campaign_run r
           set claimed_by = $1, claimed_until = $2
           from (
               select o.workspace_id, o.campaign_id, o.occurrence
               from campaign_run o
               join campaign c on c.workspace_id = o.workspace_id and c.id = o.campaign_id
               where o.completed_at is null and (o.audience_done_at is null or o.is_retried)
                   and (o.claimed_until is null or o.claimed_until <= $3)
                   and c.status in ('active', 'completed')
                   and not (o.is_retried and exists (
                       select from message m
                       where m.workspace_id = o.workspace_id and m.campaign_id = o.campaign_id
                           and m.occurrence = o.occurrence and m.due_at is not null
                           and m.status = 'sending'))
               order by o.started_at
               limit 1
               for update of o skip locked) open
           where r.workspace_id = open.workspace_id and r.campaign_id = open.campaign_id
               and r.occurrence = open.occurrence
           returning r.workspace_id, r.campaign_id, r.occurrence, r.started_at,
               r.audience_after, r.audience_done_at is not null as "is_written!", r.is_retried"#,
        hold.by,
        hold.until.utc(),
        now.utc(),
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(Run {
            workspace: WorkspaceId::new(row.workspace_id),
            campaign: CampaignId::new(row.campaign_id),
            occurrence: row.occurrence,
            started: row.started_at.into(),
            after: row.audience_after.as_deref().map(user_id).transpose()?,
            is_written: row.is_written,
            is_retried: row.is_retried,
        })
    })
    .transpose()
}

/// A user id read from the store.
pub(super) fn user_id(bytes: &[u8]) -> Result<UserId> {
    let bytes = bytes.try_into().map_err(|_| Error::internal("a user id of another length"))?;
    Ok(UserId::from_bytes(bytes))
}

/// Stores the progress of a run and renews its claim; false if the claim is lost or the campaign was halted, so that the
/// transaction must be rolled back.
pub(crate) async fn advance(
    connection: &mut PgConnection,
    run: &Run,
    after: Option<UserId>,
    hold: Hold,
) -> Result<bool> {
    let done = sqlx::query!(
        "update campaign_run
         set audience_after = coalesce($5, audience_after), claimed_until = $6
         where workspace_id = $1 and campaign_id = $2 and occurrence = $3 and claimed_by = $4
             and exists (
                 select from campaign
                 where workspace_id = $1 and id = $2 and status in ('active', 'completed'))",
        run.workspace.uuid(),
        run.campaign.uuid(),
        run.occurrence,
        hold.by,
        after.as_ref().map(|user| user.bytes().as_slice()),
        hold.until.utc(),
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Records that the audience is materialised, and releases the claim.
pub(crate) async fn written(
    connection: &mut PgConnection,
    run: &Run,
    by: Uuid,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update campaign_run
         set audience_done_at = coalesce(audience_done_at, $5), is_retried = false,
             claimed_by = null, claimed_until = null
         where workspace_id = $1 and campaign_id = $2 and occurrence = $3 and claimed_by = $4",
        run.workspace.uuid(),
        run.campaign.uuid(),
        run.occurrence,
        by,
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Releases a run that is not materialised yet; with `until`, it can be claimed again only then.
pub(crate) async fn release(
    db: impl PgExecutor<'_>,
    run: &Run,
    by: Uuid,
    until: Option<Timestamp>,
) -> Result<()> {
    sqlx::query!(
        "update campaign_run set claimed_by = null, claimed_until = $5
         where workspace_id = $1 and campaign_id = $2 and occurrence = $3 and claimed_by = $4",
        run.workspace.uuid(),
        run.campaign.uuid(),
        run.occurrence,
        by,
        until.map(Timestamp::utc),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Whether an audience of a campaign is still being materialised.
pub(crate) async fn is_being_written(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    campaign: CampaignId,
) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"select exists (
               select from campaign_run
               where workspace_id = $1 and campaign_id = $2
                   and completed_at is null and audience_done_at is null) as "found!""#,
        workspace.uuid(),
        campaign.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(found)
}

/// Whether failed messages of a campaign have yet to be queued again.
pub(crate) async fn is_retried(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    campaign: CampaignId,
) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"select exists (
               select from campaign_run
               where workspace_id = $1 and campaign_id = $2
                   and completed_at is null and is_retried) as "found!""#,
        workspace.uuid(),
        campaign.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(found)
}

/// Unfinished runs whose messages are all settled.
pub(crate) async fn settled(db: impl PgExecutor<'_>, limit: i64) -> Result<Vec<RunKey>> {
    let rows = sqlx::query!(
        "select r.workspace_id, r.campaign_id, r.occurrence
         from campaign_run r
         join campaign c on c.workspace_id = r.workspace_id and c.id = r.campaign_id
         where r.completed_at is null
             and (r.audience_done_at is not null and not r.is_retried
                     and c.status in ('active', 'completed')
                 or c.status = 'cancelled')
             and not exists (
                 select from message m
                 where m.workspace_id = r.workspace_id and m.campaign_id = r.campaign_id
                     and m.occurrence = r.occurrence and m.due_at is not null)
         order by r.started_at
         limit $1",
        limit,
    )
    .fetch_all(db)
    .await?;
    let keys = rows.into_iter().map(|row| RunKey {
        workspace: WorkspaceId::new(row.workspace_id),
        campaign: CampaignId::new(row.campaign_id),
        occurrence: row.occurrence,
    });
    Ok(keys.collect())
}

pub(crate) async fn complete(
    db: impl PgExecutor<'_>,
    RunKey { workspace, campaign, occurrence }: RunKey,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update campaign_run set completed_at = $4, claimed_by = null, claimed_until = null
         where workspace_id = $1 and campaign_id = $2 and occurrence = $3 and completed_at is null",
        workspace.uuid(),
        campaign.uuid(),
        occurrence,
        now.utc(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// When the last run of a campaign began; its rules are computed from that time.
pub(crate) async fn begun(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    campaign: CampaignId,
) -> Result<Option<Timestamp>> {
    let at = sqlx::query_scalar!(
        "select started_at from campaign_run
         where workspace_id = $1 and campaign_id = $2
         order by occurrence desc
         limit 1",
        workspace.uuid(),
        campaign.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(at.map(Timestamp::from))
}
