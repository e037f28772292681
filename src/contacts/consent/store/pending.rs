//! Subscriptions that wait for the click on their confirmation link.

use kernel::{Result, Timestamp, WorkspaceId};
use sqlx::PgConnection;

use super::memberships::columns;
use crate::consent::model::{MembershipKey, Pending};

/// Stores a pending subscription; a later request replaces an earlier one. Also deletes the contact's expired
/// ones.
pub(in crate::consent) async fn save(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    pending: &Pending,
) -> Result<()> {
    let user = &pending.key.user.bytes()[..];
    sqlx::query!(
        "delete from pending_membership
         where workspace_id = $1 and user_id = $2 and expires_at <= $3",
        workspace.uuid(),
        user,
        pending.requested_at.utc(),
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "insert into pending_membership
             (workspace_id, user_id, list_id, channel, source, consent_text, requested_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (workspace_id, user_id, list_id, channel) do update
         set source = excluded.source,
             consent_text = excluded.consent_text,
             requested_at = excluded.requested_at,
             expires_at = excluded.expires_at",
        workspace.uuid(),
        user,
        pending.key.list.uuid(),
        pending.key.channel.as_str(),
        pending.source,
        pending.consent_text,
        pending.requested_at.utc(),
        pending.expires_at.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The pending subscription under a key that can still be confirmed.
pub(in crate::consent) async fn find(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    key: MembershipKey,
) -> Result<Option<Pending>> {
    let row = sqlx::query!(
        "select source, consent_text, requested_at, expires_at
         from pending_membership
         where workspace_id = $1 and user_id = $2 and list_id = $3 and channel = $4 and expires_at > $5",
        workspace.uuid(),
        &key.user.bytes()[..],
        key.list.uuid(),
        key.channel.as_str(),
        now.utc(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Pending {
        key,
        source: row.source,
        consent_text: row.consent_text,
        requested_at: row.requested_at.into(),
        expires_at: row.expires_at.into(),
    }))
}

/// Deletes the pending subscriptions under these keys.
pub(in crate::consent) async fn settle(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    keys: &[MembershipKey],
) -> Result<()> {
    let (users, lists, channels) = columns(keys);
    sqlx::query!(
        "delete from pending_membership p
         using unnest($2::bytea[], $3::uuid[], $4::text[]) as k (user_id, list_id, channel)
         where p.workspace_id = $1 and p.user_id = k.user_id and p.list_id = k.list_id and p.channel = k.channel",
        workspace.uuid(),
        &users as _,
        &lists as _,
        &channels as _,
    )
    .execute(connection)
    .await?;
    Ok(())
}
