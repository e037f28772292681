//! The recipients of in-app messages, and how often they saw them.

use std::collections::HashMap;

use kernel::{CampaignId, Error, MessageId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use crate::model::{DisplayHistory, ImpressionLog};

/// The status of a message for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecipientStatus {
    /// Delivered to their app.
    Sent,
    /// Not displayed: the control group.
    Control,
    /// Not displayed: the content could not be rendered.
    Failed,
}

impl RecipientStatus {
    const ALL: [Self; 3] = [Self::Sent, Self::Control, Self::Failed];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Control => "control",
            Self::Failed => "failed",
        }
    }

    fn named(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|status| status.as_str() == name);
        known.ok_or_else(|| Error::internal("an in-app recipient of no known status"))
    }
}

/// The stored state of a message for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownRecipient {
    pub(crate) variant: String,
    pub(crate) status: RecipientStatus,
    pub(crate) shown: DisplayHistory,
}

/// The stored messages of a person for these campaigns.
pub(crate) async fn of_user(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    user: UserId,
    campaigns: &[Uuid],
) -> Result<HashMap<CampaignId, KnownRecipient>> {
    let rows = sqlx::query!(
        "select campaign_id, variant_id, status, displays, last_display_at
         from in_app_recipient
         where workspace_id = $1 and user_id = $2 and campaign_id = any($3)",
        workspace.uuid(),
        &user.bytes()[..],
        campaigns,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let shown = DisplayHistory {
                displays: row.displays.unsigned_abs(),
                last_at: row.last_display_at.map(Timestamp::from),
            };
            let status = RecipientStatus::named(&row.status)?;
            let known = KnownRecipient { variant: row.variant_id, status, shown };
            Ok((CampaignId::new(row.campaign_id), known))
        })
        .collect()
}

/// A message to store for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recipient {
    pub(crate) campaign: CampaignId,
    pub(crate) message: MessageId,
    pub(crate) variant: String,
    pub(crate) status: RecipientStatus,
}

/// Inserts or updates a person's messages; their display counts stay.
pub(crate) async fn put(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    now: Timestamp,
    user: UserId,
    recipients: &[Recipient],
) -> Result<()> {
    let campaigns: Vec<Uuid> = recipients.iter().map(|it| it.campaign.uuid()).collect();
    let messages: Vec<Uuid> = recipients.iter().map(|it| it.message.uuid()).collect();
    let variants: Vec<&str> = recipients.iter().map(|it| it.variant.as_str()).collect();
    let statuses: Vec<&str> = recipients.iter().map(|it| it.status.as_str()).collect();
    sqlx::query!(
        "insert into in_app_recipient
             (workspace_id, user_id, campaign_id, message_id, variant_id, status, created_at)
         select $1, $2, r.campaign_id, r.message_id, r.variant_id, r.status, $7
         from unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[])
             as r (campaign_id, message_id, variant_id, status)
         order by r.campaign_id
         on conflict (workspace_id, user_id, campaign_id) do update
         set variant_id = excluded.variant_id, status = excluded.status",
        workspace.uuid(),
        &user.bytes()[..],
        &campaigns,
        &messages,
        &variants as _,
        &statuses as _,
        now.utc(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// A message whose row is locked until the transaction ends.
#[derive(Debug, Clone)]
pub(crate) struct LockedRecipient {
    pub(crate) campaign: CampaignId,
    pub(crate) message: MessageId,
    pub(crate) user: UserId,
    pub(crate) variant: String,
    pub(crate) log: ImpressionLog,
}

/// Locks the rows of these sent messages in the order of their ids, so that concurrent calls do not deadlock.
pub(crate) async fn lock(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    messages: &[Uuid],
) -> Result<HashMap<MessageId, LockedRecipient>> {
    let rows = sqlx::query!(
        "select campaign_id, message_id, user_id, variant_id, displays, last_display_at, told
         from in_app_recipient
         where workspace_id = $1 and message_id = any($2) and status = 'sent'
         order by message_id
         for no key update",
        workspace.uuid(),
        messages,
    )
    .fetch_all(tx)
    .await?;
    rows.into_iter()
        .map(|row| {
            let user: [u8; 12] = row.user_id.as_slice().try_into().map_err(anyhow::Error::from)?;
            let message = MessageId::new(row.message_id);
            let log = ImpressionLog {
                displays: row.displays,
                last_at: row.last_display_at.map(Timestamp::from),
                recent_ids: row.told,
            };
            let held = LockedRecipient {
                campaign: CampaignId::new(row.campaign_id),
                message,
                user: UserId::from_bytes(user),
                variant: row.variant_id,
                log,
            };
            Ok((message, held))
        })
        .collect()
}

/// Stores the display count of a locked message.
pub(crate) async fn count(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    held: &LockedRecipient,
) -> Result<()> {
    sqlx::query!(
        "update in_app_recipient
         set displays = $3, last_display_at = $4, told = $5
         where workspace_id = $1 and message_id = $2",
        workspace.uuid(),
        held.message.uuid(),
        held.log.displays,
        held.log.last_at.map(Timestamp::utc),
        &held.log.recent_ids,
    )
    .execute(tx)
    .await?;
    Ok(())
}
