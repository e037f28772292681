//! What moves from a merged profile to its survivor, besides values and consent.

use kernel::{Result, WorkspaceId};
use sqlx::PgConnection;

use crate::model::ProfilePair;

/// Moves the identifiers of a merged profile.
pub(crate) async fn identifiers(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    pair: ProfilePair,
) -> Result<()> {
    sqlx::query!(
        "update identity
         set user_id = $3, version = default
         where workspace_id = $1 and user_id = $2",
        workspace.uuid(),
        &pair.from.bytes()[..],
        &pair.into.bytes()[..],
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Moves devices, messages that apps show, and what frequency caps count.
pub(crate) async fn devices_and_tallies(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    pair: ProfilePair,
) -> Result<()> {
    let (workspace, from, into) = (workspace.uuid(), pair.from.bytes(), pair.into.bytes());
    sqlx::query!(
        "update device set user_id = $3 where workspace_id = $1 and user_id = $2",
        workspace,
        &from[..],
        &into[..],
    )
    .execute(&mut *tx)
    .await?;
    // In the order in which apps that report displays lock them.
    sqlx::query!(
        "select from in_app_recipient
         where workspace_id = $1 and user_id in ($2, $3)
         order by message_id
         for no key update",
        workspace,
        &from[..],
        &into[..],
    )
    .fetch_all(&mut *tx)
    .await?;
    // Of a message that both were shown, the survivor's stays and counts the displays of both.
    sqlx::query!(
        "update in_app_recipient r
         set displays = r.displays + f.displays, last_display_at = greatest(r.last_display_at, f.last_display_at)
         from in_app_recipient f
         where f.workspace_id = $1 and f.user_id = $2
             and r.workspace_id = $1 and r.user_id = $3 and r.campaign_id = f.campaign_id",
        workspace,
        &from[..],
        &into[..],
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "update in_app_recipient f set user_id = $3
         where f.workspace_id = $1 and f.user_id = $2 and not exists (
             select from in_app_recipient r
             where r.workspace_id = $1 and r.user_id = $3 and r.campaign_id = f.campaign_id)",
        workspace,
        &from[..],
        &into[..],
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "update in_app_test set user_id = $3 where workspace_id = $1 and user_id = $2",
        workspace,
        &from[..],
        &into[..],
    )
    .execute(&mut *tx)
    .await?;
    tallies(tx, workspace, from, into).await
}

/// Adds up what both were sent, under the locks that senders take.
async fn tallies(
    tx: &mut PgConnection,
    workspace: uuid::Uuid,
    from: &[u8; 12],
    into: &[u8; 12],
) -> Result<()> {
    sqlx::query!(
        "select from send_tally_lock
         where workspace_id = $1 and user_id in ($2, $3)
         order by workspace_id, channel, user_id
         for no key update",
        workspace,
        &from[..],
        &into[..],
    )
    .fetch_all(&mut *tx)
    .await?;
    sqlx::query!(
        "with moved as (
             delete from send_tally where workspace_id = $1 and user_id = $2
             returning channel, hour, sends
         )
         insert into send_tally (workspace_id, user_id, channel, hour, sends)
         select $1, $3, channel, hour, sends from moved order by channel, hour
         on conflict (workspace_id, user_id, channel, hour)
             do update set sends = send_tally.sends + excluded.sends",
        workspace,
        &from[..],
        &into[..],
    )
    .execute(tx)
    .await?;
    Ok(())
}
