//! Subscriptions whose contacts have not been sent the link that confirms them.

use contacts::suppressions::model::Ledger;
use kernel::{Channel, Error, ListId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::PgConnection;

/// Milliseconds within which asking again sends nothing again: somebody who presses a button twice.
const REST_MS: f64 = 60_000.0;
/// Counts of past days forgotten in one transaction.
const COUNTS_FORGOTTEN_AT_ONCE: i64 = 1000;

/// A subscription that waits for its contact's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unasked {
    pub(crate) workspace: WorkspaceId,
    pub(crate) user: UserId,
    /// What they are asked about.
    pub(crate) about: About,
    /// The channel they would be subscribed on.
    pub(crate) channel: Channel,
    /// Where the wish came from.
    pub(crate) source: String,
}

/// What a contact is asked to confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum About {
    /// A list, by its name.
    List(ListId, String),
    /// The whole channel, of the workspace of this name.
    Channel(String),
}

/// Takes some of those that wait on these channels, the oldest first, and notes that they were asked; for
/// good when the transaction is.
pub(crate) async fn take(
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
         returning p.workspace_id, p.user_id, p.list_id, p.channel, p.source, a.name",
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
                about: About::List(ListId::new(row.list_id), row.name),
                channel: row.channel.parse().map_err(Error::internal)?,
                source: row.source,
            })
        })
        .collect()
}

/// Likewise of those whose opt-in to a whole channel waits.
pub(crate) async fn take_channels(
    connection: &mut PgConnection,
    channels: &[&str],
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Unasked>> {
    let rows = sqlx::query!(
        "with unasked as (
             select p.workspace_id, p.user_id, p.channel, w.name
             from pending_channel p
             join workspace w on w.id = p.workspace_id
             where (p.asked_at is null or p.asked_at < p.requested_at)
                 and (p.asked_at is null
                     or p.requested_at > p.asked_at + make_interval(secs => $4::float8 / 1000))
                 and p.expires_at > $1 and p.channel = any($2::text[])
             order by p.requested_at
             limit $3
             for update of p skip locked)
         update pending_channel p set asked_at = greatest($1, p.requested_at)
         from unasked a
         where p.workspace_id = a.workspace_id and p.user_id = a.user_id and p.channel = a.channel
         returning p.workspace_id, p.user_id, p.channel, p.source, a.name",
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
                about: About::Channel(row.name),
                channel: row.channel.parse().map_err(Error::internal)?,
                source: row.source,
            })
        })
        .collect()
}

/// The address that a contact is asked at, in the spelling of the ledgers; none where they have none.
pub(crate) async fn address(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
    ledger: Ledger,
) -> Result<Option<String>> {
    let row = sqlx::query!(
        "select email, phone_normal from users
         where workspace_id = $1 and id = $2 and deleted_at is null",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.and_then(|row| if ledger == Ledger::Email { row.email } else { row.phone_normal }))
}

/// Whether an address is suppressed for what its holder would be asked about; an opt-out by its holder counts
/// where `with_opt_outs`.
pub(crate) async fn is_suppressed(
    connection: &mut PgConnection,
    (workspace, ledger, address): (WorkspaceId, Ledger, &str),
    list: Option<ListId>,
    with_opt_outs: bool,
) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"select exists (
             select from suppression
             where workspace_id = $1 and channel = $2 and identifier = $3
                 and (scope = 'global' or list_id = $4)
                 and (reason <> 'unsubscribe' or $5)) as "found!""#,
        workspace.uuid(),
        ledger.as_str(),
        address,
        list.map(ListId::uuid),
        with_opt_outs,
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}

/// Counts a confirmation to an address on the day of `now`; false where it had `most` on that day already.
pub(crate) async fn count(
    connection: &mut PgConnection,
    (workspace, ledger, address): (WorkspaceId, Ledger, &str),
    now: Timestamp,
    most: i32,
) -> Result<bool> {
    let counted = sqlx::query_scalar!(
        "insert into confirmation_count as known (workspace_id, channel, identifier, day, count)
         values ($1, $2, $3, $4, 1)
         on conflict (workspace_id, channel, identifier, day) do update
         set count = known.count + 1 where known.count < $5
         returning count",
        workspace.uuid(),
        ledger.as_str(),
        address,
        now.utc().date_naive(),
        most,
    )
    .fetch_optional(connection)
    .await?;
    Ok(counted.is_some())
}

/// Forgets the counts of the days before that of `now`, some at a time.
pub(crate) async fn forget_counts(connection: &mut PgConnection, now: Timestamp) -> Result<()> {
    sqlx::query!(
        "delete from confirmation_count c
         using (select workspace_id, channel, identifier, day from confirmation_count
                where day < $1 limit $2 for update skip locked) as old
         where c.workspace_id = old.workspace_id and c.channel = old.channel
             and c.identifier = old.identifier and c.day = old.day",
        now.utc().date_naive(),
        COUNTS_FORGOTTEN_AT_ONCE,
    )
    .execute(connection)
    .await?;
    Ok(())
}
