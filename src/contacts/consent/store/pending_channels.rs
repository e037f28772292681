//! Opt-ins to a channel that wait for the click on their confirmation link.

use kernel::{Channel, Error, Result, Timestamp, UserId, WorkspaceId};
use sqlx::PgConnection;

use crate::consent::model::{ChannelStatus, PendingChannel};

/// Stores a pending opt-in; a later request replaces an earlier one.
pub(in crate::consent) async fn save(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    pending: &PendingChannel,
) -> Result<()> {
    sqlx::query!(
        "insert into pending_channel
             (workspace_id, user_id, channel, status, source, consent_text, requested_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (workspace_id, user_id, channel) do update
         set status = excluded.status,
             source = excluded.source,
             consent_text = excluded.consent_text,
             requested_at = excluded.requested_at,
             expires_at = excluded.expires_at",
        workspace.uuid(),
        &pending.user.bytes()[..],
        pending.channel.as_str(),
        pending.status.as_str(),
        pending.source,
        pending.consent_text,
        pending.requested_at.utc(),
        pending.expires_at.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The pending opt-in that can still be confirmed.
pub(in crate::consent) async fn find(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    user: UserId,
    channel: Channel,
) -> Result<Option<PendingChannel>> {
    let row = sqlx::query!(
        "select status, source, consent_text, requested_at, expires_at
         from pending_channel
         where workspace_id = $1 and user_id = $2 and channel = $3 and expires_at > $4",
        workspace.uuid(),
        &user.bytes()[..],
        channel.as_str(),
        now.utc(),
    )
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let status = ChannelStatus::named(&row.status)
        .ok_or_else(|| Error::internal("a pending opt-in of no known status"))?;
    Ok(Some(PendingChannel {
        user,
        channel,
        status,
        source: row.source,
        consent_text: row.consent_text,
        requested_at: row.requested_at.into(),
        expires_at: row.expires_at.into(),
    }))
}

pub(in crate::consent) async fn settle(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
    channel: Channel,
) -> Result<()> {
    sqlx::query!(
        "delete from pending_channel where workspace_id = $1 and user_id = $2 and channel = $3",
        workspace.uuid(),
        &user.bytes()[..],
        channel.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}
