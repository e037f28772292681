//! Inserts messages in batches.

use kernel::{CampaignId, MessageId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgPool};

use super::scope::DuePage;
use crate::model::message::{NewMessage, Start, channel_name};

/// Inserts messages; returns how many are new. A message that exists already, by its id or by campaign, recipient and
/// occurrence, is left as it is.
///
/// Each caller publishes the first events of the messages before: `queued`, and `skipped` of those that start with this
/// status.
///
/// # Errors
/// When the store fails.
pub async fn insert(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    messages: &[NewMessage],
    now: Timestamp,
) -> Result<u64> {
    let column = Columns::of(messages);
    let done = sqlx::query!(
        "insert into message
             (workspace_id, id, purpose, campaign_id, occurrence, user_id, channel, variant_id, context,
              status, due_at, expires_at, code, reason, is_control, created_at)
         select $1, m.id, m.purpose, m.campaign_id, m.occurrence, m.user_id, m.channel, m.variant_id,
             m.context, m.status, m.due_at, m.expires_at, m.code, m.reason, m.is_control, $14
         from unnest($2::uuid[], $3::text[], $4::uuid[], $5::integer[], $6::bytea[], $7::text[],
                 $8::text[], $9::jsonb[], $10::text[], $11::timestamptz[], $12::timestamptz[],
                 $13::text[], $15::text[], $16::boolean[])
             as m (id, purpose, campaign_id, occurrence, user_id, channel, variant_id, context, status,
                 due_at, expires_at, code, reason, is_control)
         on conflict do nothing",
        workspace.uuid(),
        &column.ids,
        &column.purposes as _,
        &column.campaigns as _,
        &column.occurrences,
        &column.users as _,
        &column.channels as _,
        &column.variants as _,
        &column.contexts as _,
        &column.statuses as _,
        &column.dues as _,
        &column.expiries as _,
        &column.codes as _,
        now.utc(),
        &column.reasons as _,
        &column.are_control,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// The status of a message, and why it has that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredStatus {
    /// As the database has it: `queued`, `sending`, `sent`, `failed`, `skipped`, `unknown`.
    pub status: String,
    /// The code of the rule or the provider.
    pub code: Option<String>,
    /// The words of the provider or of the rule.
    pub reason: Option<String>,
}

/// The status of a message; none of an unknown one.
///
/// # Errors
/// When the store fails.
pub async fn status(
    db: &PgPool,
    workspace: WorkspaceId,
    id: MessageId,
) -> Result<Option<StoredStatus>> {
    let found = sqlx::query_as!(
        StoredStatus,
        "select status, code, reason from message where workspace_id = $1 and id = $2",
        workspace.uuid(),
        id.uuid(),
    );
    Ok(found.fetch_optional(db).await?)
}

/// Makes queued messages of a campaign due now that have no variant yet; returns how many.
pub(crate) async fn bring_forward(
    db: &PgPool,
    workspace: WorkspaceId,
    campaign: CampaignId,
    DuePage { now, limit }: DuePage,
) -> Result<u64> {
    let done = sqlx::query!(
        "update message set due_at = $3
         where workspace_id = $1 and id in (
             select id from message
             where workspace_id = $1 and campaign_id = $2 and due_at > $3 and purpose = 'campaign'
                 and status = 'queued' and variant_id is null and code is null
             limit $4
             for update skip locked)",
        workspace.uuid(),
        campaign.uuid(),
        now.utc(),
        limit,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// Column arrays for `unnest`.
#[derive(Debug, Default)]
struct Columns<'a> {
    ids: Vec<uuid::Uuid>,
    purposes: Vec<&'static str>,
    campaigns: Vec<Option<uuid::Uuid>>,
    occurrences: Vec<i32>,
    users: Vec<Option<&'a [u8]>>,
    channels: Vec<&'static str>,
    variants: Vec<Option<&'a str>>,
    contexts: Vec<Option<&'a serde_json::Value>>,
    statuses: Vec<&'static str>,
    dues: Vec<Option<chrono::DateTime<chrono::Utc>>>,
    expiries: Vec<Option<chrono::DateTime<chrono::Utc>>>,
    codes: Vec<Option<&'a str>>,
    reasons: Vec<Option<&'a str>>,
    are_control: Vec<bool>,
}

impl<'a> Columns<'a> {
    fn of(messages: &'a [NewMessage]) -> Self {
        let mut all = Self::default();
        for message in messages {
            all.ids.push(message.id.uuid());
            all.purposes.push(message.purpose.as_str());
            all.campaigns.push(message.campaign.map(CampaignId::uuid));
            all.occurrences.push(message.occurrence);
            all.users.push(message.user.as_ref().map(|user: &UserId| user.bytes().as_slice()));
            all.channels.push(channel_name(message.channel));
            // Drawn again when it is due, so that it is handled like a message whose variant waits for its time.
            let is_control = matches!(message.start, Start::Control { .. });
            all.variants.push(message.variant.as_deref().filter(|_| !is_control));
            all.are_control.push(is_control);
            all.contexts.push(message.context.as_ref());
            all.begin(&message.start);
        }
        all
    }

    fn begin(&mut self, start: &'a Start) {
        let (status, due, expires, skip) = match start {
            Start::Queued { due, expires } => ("queued", Some(due.utc()), *expires, None),
            Start::Skipped(skip) => ("skipped", None, None, Some(skip)),
            Start::Control { due } => ("queued", Some(due.utc()), None, None),
        };
        self.statuses.push(status);
        self.dues.push(due);
        self.expiries.push(expires.map(Timestamp::utc));
        self.codes.push(skip.map(|skip| skip.reason.code()));
        self.reasons.push(skip.map(|skip| skip.detail.as_str()));
    }
}
