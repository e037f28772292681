//! Claims messages for sending and records their statuses.

use std::collections::BTreeMap;

use kernel::{CampaignId, Error, MessageId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::scope::{DuePage, MessageScope, RunKey};
use crate::model::{
    claimed::{Claimed, MessageStatus},
    message::{Purpose, channel_name, channel_named},
};

/// A row of the table `message`.
struct Row {
    workspace_id: Uuid,
    id: Uuid,
    purpose: String,
    campaign_id: Option<Uuid>,
    occurrence: i32,
    user_id: Option<Vec<u8>>,
    channel: String,
    variant_id: Option<String>,
    context: Option<serde_json::Value>,
    expires_at: Option<chrono::DateTime<chrono::Utc>>,
    attempts: i16,
    is_control: bool,
}

impl TryFrom<Row> for Claimed {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        let purpose = Purpose::parse(&row.purpose);
        Ok(Self {
            workspace: WorkspaceId::new(row.workspace_id),
            id: MessageId::new(row.id),
            purpose: purpose.ok_or_else(|| Error::internal("a message of no known purpose"))?,
            campaign: row.campaign_id.map(CampaignId::new),
            occurrence: row.occurrence,
            user: row.user_id.as_deref().map(super::runs::user_id).transpose()?,
            channel: channel_named(&row.channel)
                .ok_or_else(|| Error::internal("a message of no known channel"))?,
            variant: row.variant_id,
            context: row.context,
            expires: row.expires_at.map(Timestamp::from),
            attempts: row.attempts,
            is_control: row.is_control,
        })
    }
}

fn claimed(rows: Vec<Row>) -> Result<Vec<Claimed>> {
    rows.into_iter().map(Claimed::try_from).collect()
}

/// Locks due messages of a campaign until the transaction ends. Messages that another sender has locked are left out.
/// With `channels`, only messages on these channels, and messages whose channel is not drawn yet.
pub(crate) async fn of_campaign(
    connection: &mut PgConnection,
    MessageScope { workspace, campaign, occurrence }: MessageScope,
    channels: Option<&[&'static str]>,
    DuePage { now, limit }: DuePage,
) -> Result<Vec<Claimed>> {
    let rows = sqlx::query_as!(
        Row,
        "select workspace_id, id, purpose, campaign_id, occurrence, user_id, channel, variant_id,
             context, expires_at, attempts, is_control
         from message
         where workspace_id = $1 and campaign_id = $2 and due_at <= $3 and status = 'queued'
             and ($5::integer is null or occurrence = $5)
             and ($6::text[] is null or variant_id is null or channel = any($6))
         order by due_at
         limit $4
         for update skip locked",
        workspace.uuid(),
        campaign.uuid(),
        now.utc(),
        limit,
        occurrence,
        channels as _,
    )
    .fetch_all(connection)
    .await?;
    claimed(rows)
}

/// Locks due messages of any workspace on these channels that belong to no campaign.
pub(crate) async fn of_outbox(
    connection: &mut PgConnection,
    channels: &[&'static str],
    DuePage { now, limit }: DuePage,
) -> Result<Vec<Claimed>> {
    let rows = sqlx::query_as!(
        Row,
        "select workspace_id, id, purpose, campaign_id, occurrence, user_id, channel, variant_id,
             context, expires_at, attempts, is_control
         from message
         where due_at <= $1 and campaign_id is null and status = 'queued' and channel = any($3)
         order by due_at
         limit $2
         for update skip locked",
        now.utc(),
        limit,
        channels as _,
    )
    .fetch_all(connection)
    .await?;
    claimed(rows)
}

/// Locks messages of any workspace whose sender's lease has expired.
pub(crate) async fn lapsed(
    connection: &mut PgConnection,
    DuePage { now, limit }: DuePage,
) -> Result<Vec<Claimed>> {
    let rows = sqlx::query_as!(
        Row,
        "select workspace_id, id, purpose, campaign_id, occurrence, user_id, channel, variant_id,
             context, expires_at, attempts, is_control
         from message
         where status = 'sending' and due_at <= $1
         order by due_at
         limit $2
         for update skip locked",
        now.utc(),
        limit,
    )
    .fetch_all(connection)
    .await?;
    claimed(rows)
}

/// Locks queued messages of a campaign, due or not.
pub(crate) async fn waiting(
    connection: &mut PgConnection,
    MessageScope { workspace, campaign, occurrence }: MessageScope,
    limit: i64,
) -> Result<Vec<Claimed>> {
    let rows = sqlx::query_as!(
        Row,
        "select workspace_id, id, purpose, campaign_id, occurrence, user_id, channel, variant_id,
             context, expires_at, attempts, is_control
         from message
         where workspace_id = $1 and campaign_id = $2 and due_at is not null and status = 'queued'
             and ($4::integer is null or occurrence = $4)
         limit $3
         for update skip locked",
        workspace.uuid(),
        campaign.uuid(),
        limit,
        occurrence,
    )
    .fetch_all(connection)
    .await?;
    claimed(rows)
}

/// A message and its new status.
#[derive(Debug)]
pub(crate) struct Mark<'a> {
    /// The message; its variant and channel are stored too.
    pub(crate) message: &'a Claimed,
    pub(crate) status: &'a MessageStatus,
}

/// Column arrays for `unnest`.
#[derive(Debug, Default)]
struct Columns<'a> {
    workspaces: Vec<Uuid>,
    ids: Vec<Uuid>,
    statuses: Vec<&'static str>,
    dues: Vec<Option<chrono::DateTime<chrono::Utc>>>,
    codes: Vec<Option<&'a str>>,
    reasons: Vec<Option<&'a str>>,
    variants: Vec<Option<&'a str>>,
    providers: Vec<Option<&'a str>>,
    attempts: Vec<i16>,
    untried: Vec<bool>,
    channels: Vec<&'static str>,
}

impl<'a> Columns<'a> {
    fn of(marks: &[Mark<'a>]) -> Self {
        let mut all = Self::default();
        for Mark { message, status } in marks {
            let (code, reason) = status.why();
            all.workspaces.push(message.workspace.uuid());
            all.ids.push(message.id.uuid());
            all.statuses.push(status.status());
            all.dues.push(status.due().map(Timestamp::utc));
            all.codes.push(code);
            all.reasons.push(reason);
            all.variants.push(message.variant.as_deref());
            all.providers.push(match status {
                MessageStatus::Sent { provider_id } => provider_id.as_deref(),
                _ => None,
            });
            all.channels.push(channel_name(message.channel));
            let is_try = matches!(status, MessageStatus::Sending { .. });
            all.attempts.push(message.attempts.saturating_add(i16::from(is_try)));
            let is_untried =
                matches!(status, MessageStatus::Released { .. } | MessageStatus::Skipped(_));
            all.untried.push(is_untried);
        }
        all
    }
}

/// Stores the statuses of messages that this transaction has locked.
pub(crate) async fn update_statuses(
    connection: &mut PgConnection,
    marks: &[Mark<'_>],
) -> Result<()> {
    if marks.is_empty() {
        return Ok(());
    }
    let column = Columns::of(marks);
    sqlx::query!(
        "update message m
         set status = n.status, due_at = n.due_at, code = n.code, reason = n.reason,
             variant_id = n.variant_id, channel = n.channel, attempts = n.attempts
         from unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::text[], $6::text[],
                 $7::text[], $8::smallint[], $9::text[])
             as n (workspace_id, id, status, due_at, code, reason, variant_id, attempts, channel)
         where m.workspace_id = n.workspace_id and m.id = n.id",
        &column.workspaces,
        &column.ids,
        &column.statuses as _,
        &column.dues as _,
        &column.codes as _,
        &column.reasons as _,
        &column.variants as _,
        &column.attempts,
        &column.channels as _,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Records the outcomes of messages that were sent to a provider, and returns the volume of those that were not sent.
/// A message whose lease expired meanwhile is `unknown`: a definite outcome still replaces that, a retry does not.
/// Released messages were not attempted, so their attempt is not counted.
pub(crate) async fn record_outcomes(
    connection: &mut PgConnection,
    marks: &[Mark<'_>],
    now: Timestamp,
) -> Result<()> {
    let column = Columns::of(marks);
    let updated = sqlx::query!(
        "update message m
         set status = n.status, due_at = n.due_at, code = n.code, reason = n.reason,
             provider_id = coalesce(n.provider_id, m.provider_id),
             sent_at = case when n.status = 'sent' then $8 else m.sent_at end,
             attempts = m.attempts - n.is_untried::integer::smallint
         from unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::text[], $6::text[],
                 $7::text[], $9::boolean[])
             as n (workspace_id, id, status, due_at, code, reason, provider_id, is_untried)
         where m.workspace_id = n.workspace_id and m.id = n.id
             and (m.status = 'sending' or m.status = 'unknown' and n.status in ('sent', 'failed'))
         returning m.workspace_id, m.campaign_id, m.occurrence, m.status",
        &column.workspaces,
        &column.ids,
        &column.statuses as _,
        &column.dues as _,
        &column.codes as _,
        &column.reasons as _,
        &column.providers as _,
        now.utc(),
        &column.untried,
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut unsent = BTreeMap::<(WorkspaceId, CampaignId), Vec<i32>>::new();
    for row in updated.into_iter().filter(|row| !matches!(&*row.status, "sent" | "unknown")) {
        let Some(campaign) = row.campaign_id.map(CampaignId::new) else { continue };
        let key = (WorkspaceId::new(row.workspace_id), campaign);
        unsent.entry(key).or_default().push(row.occurrence);
    }
    for ((workspace, campaign), occurrences) in unsent {
        super::volume::give_back(connection, workspace, campaign, &occurrences).await?;
    }
    Ok(())
}

/// Queues failed messages of a run again; returns how many.
pub(crate) async fn retry_failed(
    connection: &mut PgConnection,
    RunKey { workspace, campaign, occurrence }: RunKey,
    DuePage { now, limit }: DuePage,
) -> Result<u64> {
    let done = sqlx::query!(
        "update message
         set status = 'queued', due_at = $4, code = null, reason = null, attempts = 0, expires_at = null
         where workspace_id = $1 and id in (
             select id from message
             where workspace_id = $1 and campaign_id = $2 and occurrence = $3 and purpose = 'campaign'
                 and status = 'failed'
             limit $5
             for update skip locked)",
        workspace.uuid(),
        campaign.uuid(),
        occurrence,
        now.utc(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Which of these users were sent a message by another run of the campaign, `since` a time or ever. Deleted messages
/// count.
pub(crate) async fn sent_before(
    connection: &mut PgConnection,
    RunKey { workspace, campaign, occurrence }: RunKey,
    users: &[UserId],
    since: Option<Timestamp>,
) -> Result<std::collections::HashSet<UserId>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let rows = sqlx::query_scalar!(
        r#"with person as (
               select id, id as survivor from unnest($4::bytea[]) as id
               union all
               select id, merged_into from users where workspace_id = $1 and merged_into = any($4)
           )
           select p.survivor as "user_id!"
           from person p
           join message m on m.workspace_id = $1 and m.campaign_id = $2 and m.user_id = p.id
           where m.occurrence <> $3 and m.purpose = 'campaign'
               and m.status in ('sent', 'sending', 'unknown')
               and ($5::timestamptz is null or coalesce(m.sent_at, m.created_at) >= $5)
           union
           select p.survivor
           from person p
           join campaign_received r on r.workspace_id = $1 and r.campaign_id = $2 and r.user_id = p.id
           where $5::timestamptz is null or r.last_sent_at >= $5"#,
        workspace.uuid(),
        campaign.uuid(),
        occurrence,
        &ids as _,
        since.map(Timestamp::utc),
    )
    .fetch_all(connection)
    .await?;
    rows.iter().map(|id| super::runs::user_id(id)).collect()
}

/// The most frequent failure among messages.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: String,
    /// The provider's description of the error.
    pub(crate) reason: String,
    /// Messages that failed with this code.
    pub(crate) failed: i64,
    pub(crate) ended: i64,
}

/// The most frequent of these codes among at most `limit` finished messages of the campaign's last occurrence.
pub(crate) async fn commonest_fault(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: CampaignId,
    codes: &[&str],
    limit: i64,
) -> Result<Option<Fault>> {
    let found = sqlx::query_as!(
        Fault,
        r#"select code as "code!", coalesce(min(reason), '') as "reason!", count(*) as "failed!",
               max(ended) as "ended!"
           from (
               select status, code, reason, count(*) over () as ended
               from (
                   select status, code, reason from message
                   where workspace_id = $1 and campaign_id = $2 and purpose = 'campaign'
                       and status in ('sent', 'failed', 'unknown') and occurrence = (
                           select max(occurrence) from message
                           where workspace_id = $1 and campaign_id = $2 and purpose = 'campaign')
                   limit $4) tried) ended_so
           where status = 'failed' and code = any($3)
           group by code
           order by count(*) desc
           limit 1"#,
        workspace.uuid(),
        campaign.uuid(),
        codes as _,
        limit,
    )
    .fetch_optional(connection)
    .await?;
    Ok(found)
}
