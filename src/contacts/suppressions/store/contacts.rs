//! Bounces of an address, on the contacts that have it.

use kernel::{Channel, Result, Timestamp, UserId, WorkspaceId};
use sqlx::PgConnection;
use web::audit::{Action, Entry};

use crate::model::Identifier;

/// Locks the contacts that have an address until the transaction ends.
pub(crate) async fn lock(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    address: &Identifier,
) -> Result<Vec<Vec<u8>>> {
    let ids = sqlx::query_scalar!(
        "select id
         from users
         where workspace_id = $1 and email = $2 and deleted_at is null
         order by id
         for no key update",
        workspace.uuid(),
        address.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

/// Marks the contacts' address invalid, and returns the entries for the history.
pub(crate) async fn invalidate(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    users: &[Vec<u8>],
) -> Result<Vec<Entry>> {
    let rows = sqlx::query!(
        "insert into channel_consent as c
             (workspace_id, user_id, channel, is_valid, bounce_type, bounce_count, last_bounce_at, updated_at)
         select $1, u.id, 'email', false, 'hard', 1, $2, $2
         from unnest($3::bytea[]) as u (id)
         order by u.id
         on conflict (workspace_id, user_id, channel) do update
         set is_valid = false,
             bounce_type = 'hard',
             bounce_count = c.bounce_count + 1,
             last_bounce_at = excluded.last_bounce_at,
             updated_at = excluded.updated_at
         returning user_id, status",
        workspace.uuid(),
        now.utc(),
        users,
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| entry(&row.user_id, Action::HardBounce, row.status)).collect()
}

/// Makes the contacts' address valid again after a hard bounce, and returns the entries for the history.
pub(crate) async fn restore(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    users: &[Vec<u8>],
) -> Result<Vec<Entry>> {
    let rows = sqlx::query!(
        "update channel_consent
         set is_valid = true, bounce_type = null, bounce_count = 0, last_bounce_at = null, updated_at = $2
         where workspace_id = $1 and user_id = any($3) and channel = 'email' and not is_valid
         returning user_id, status",
        workspace.uuid(),
        now.utc(),
        users,
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| entry(&row.user_id, Action::ApiUpdate, row.status)).collect()
}

/// A bounce does not change the status.
fn entry(user: &[u8], action: Action, status: Option<String>) -> Result<Entry> {
    let user: [u8; 12] = user.try_into().map_err(anyhow::Error::from)?;
    Ok(Entry {
        user: UserId::from_bytes(user),
        channel: Channel::Email,
        list: None,
        action,
        previous: status.clone().map(Into::into),
        new: status.map(Into::into),
    })
}
