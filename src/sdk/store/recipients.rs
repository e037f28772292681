//! To whom in-app messages were handed over, and how often they were seen.

use std::collections::HashMap;

use kernel::{CampaignId, Error, MessageId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use crate::model::{ImpressionLog, Shown};

/// What became of a message for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It was handed over to their app.
    Sent,
    /// It is not shown, to measure the others by.
    Control,
    /// It could not be rendered.
    Failed,
}

impl Standing {
    const ALL: [Self; 3] = [Self::Sent, Self::Control, Self::Failed];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Control => "control",
            Self::Failed => "failed",
        }
    }

    fn named(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|standing| standing.as_str() == name);
        known.ok_or_else(|| Error::internal("an in-app recipient of no known status"))
    }
}

/// A message for a person, as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) variant: String,
    pub(crate) standing: Standing,
    pub(crate) shown: Shown,
}

/// What is known of a person's messages of these campaigns.
pub(crate) async fn of_user(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    user: UserId,
    campaigns: &[Uuid],
) -> Result<HashMap<CampaignId, Known>> {
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
            let shown = Shown {
                displays: row.displays.unsigned_abs(),
                last_at: row.last_display_at.map(Timestamp::from),
            };
            let standing = Standing::named(&row.status)?;
            let known = Known { variant: row.variant_id, standing, shown };
            Ok((CampaignId::new(row.campaign_id), known))
        })
        .collect()
}

/// A message to be written down for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recipient {
    pub(crate) campaign: CampaignId,
    pub(crate) message: MessageId,
    pub(crate) variant: String,
    pub(crate) standing: Standing,
}

/// Writes down what a person's messages are now; their displays stay.
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
    let statuses: Vec<&str> = recipients.iter().map(|it| it.standing.as_str()).collect();
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

/// A message that an app tells of, held until the transaction ends.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) campaign: CampaignId,
    pub(crate) message: MessageId,
    pub(crate) user: UserId,
    pub(crate) variant: String,
    pub(crate) told: ImpressionLog,
}

/// Takes hold of the messages of these ids that were handed over, in the order of their ids.
pub(crate) async fn lock(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    messages: &[Uuid],
) -> Result<HashMap<MessageId, Held>> {
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
            let told = ImpressionLog {
                displays: row.displays,
                last_at: row.last_display_at.map(Timestamp::from),
                told: row.told,
            };
            let held = Held {
                campaign: CampaignId::new(row.campaign_id),
                message,
                user: UserId::from_bytes(user),
                variant: row.variant_id,
                told,
            };
            Ok((message, held))
        })
        .collect()
}

/// Writes down how often a message that is held was seen.
pub(crate) async fn count(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    held: &Held,
) -> Result<()> {
    sqlx::query!(
        "update in_app_recipient
         set displays = $3, last_display_at = $4, told = $5
         where workspace_id = $1 and message_id = $2",
        workspace.uuid(),
        held.message.uuid(),
        held.told.displays,
        held.told.last_at.map(Timestamp::utc),
        &held.told.told,
    )
    .execute(tx)
    .await?;
    Ok(())
}
