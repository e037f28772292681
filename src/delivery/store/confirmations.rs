//! Subscriptions whose contacts have not been sent the link that confirms them.

use sqlx::PgConnection;

use crate::kernel::{Channel, Error, ListId, Result, Timestamp, UserId, WorkspaceId};

/// Milliseconds within which asking again sends nothing again: somebody who presses a button twice.
const REST_MS: f64 = 60_000.0;

/// A subscription that waits for its contact's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::delivery) struct Unasked {
    pub(in crate::delivery) workspace: WorkspaceId,
    pub(in crate::delivery) user: UserId,
    pub(in crate::delivery) list: ListId,
    pub(in crate::delivery) channel: Channel,
    /// The list's name.
    pub(in crate::delivery) name: String,
}

/// Takes some of those that wait on these channels, the oldest first, and notes that they were asked; for
/// good when the transaction is.
pub(in crate::delivery) async fn take(
    connection: &mut PgConnection,
    channels: &[&str],
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Unasked>> {
    let rows = sqlx::query!(
        "with unasked as (
             select p.workspace_id, p.user_id, p.list_id, p.channel, l.name
             from pending_membership p
             join subscription_list l on l.workspace_id = p.workspace_id and l.id = p.list_id
             where (p.asked_at is null or p.asked_at < p.requested_at)
                 and (p.asked_at is null
                     or p.requested_at > p.asked_at + make_interval(secs => $4::float8 / 1000))
                 and p.expires_at > $1 and p.channel = any($2::text[])
             order by p.requested_at
             limit $3
             for update of p skip locked)
         update pending_membership p set asked_at = greatest($1, p.requested_at)
         from unasked a
         where p.workspace_id = a.workspace_id and p.user_id = a.user_id and p.list_id = a.list_id
             and p.channel = a.channel
         returning p.workspace_id, p.user_id, p.list_id, p.channel, a.name",
        now.utc(),
        channels as _,
        limit,
        REST_MS,
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let user = <[u8; 12]>::try_from(row.user_id.as_slice());
            Ok(Unasked {
                workspace: WorkspaceId::new(row.workspace_id),
                user: UserId::from_bytes(user.map_err(Error::internal)?),
                list: ListId::new(row.list_id),
                channel: row.channel.parse().map_err(Error::internal)?,
                name: row.name,
            })
        })
        .collect()
}
