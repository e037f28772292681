//! Subscriptions whose confirmation link has not been sent yet.

use std::time::Duration;

use kernel::{Channel, Error, ListId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::PgConnection;
use suppressions::model::Ledger;

/// A subscription requested again within this time, such as by a double click, sends no second confirmation.
const REST: Duration = Duration::from_mins(1);
/// Counts of past days deleted in one transaction.
const COUNTS_DELETED_AT_ONCE: i64 = 1000;

/// A subscription that waits for its confirmation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unasked {
    pub(crate) workspace: WorkspaceId,
    pub(crate) user: UserId,
    /// What is to be confirmed.
    pub(crate) about: About,
    /// The channel they would be subscribed on.
    pub(crate) channel: Channel,
    /// The source of the request.
    pub(crate) source: String,
}

/// What a contact is to confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum About {
    /// A list, by its name.
    List(ListId, String),
    /// The whole channel, of the workspace of this name.
    Channel(String),
}

/// Takes list subscriptions that wait on these channels, the oldest first, and marks them as sent within the
/// transaction.
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
        REST.as_secs_f64() * 1000.0,
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

/// Takes opt-ins to a whole channel in the same way.
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
        REST.as_secs_f64() * 1000.0,
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

/// The address of a contact, as the suppression ledgers spell it.
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

/// An address in a suppression ledger of a workspace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LedgerAddress<'a> {
    pub(crate) workspace: WorkspaceId,
    pub(crate) ledger: Ledger,
    pub(crate) address: &'a str,
}

/// Whether an address is suppressed, globally or for this list. An opt-out by its holder counts only with
/// `with_opt_outs`.
pub(crate) async fn is_suppressed(
    connection: &mut PgConnection,
    LedgerAddress { workspace, ledger, address }: LedgerAddress<'_>,
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

/// Counts a confirmation to an address on the day of `now`; false if it already had `most` on that day.
pub(crate) async fn count(
    connection: &mut PgConnection,
    LedgerAddress { workspace, ledger, address }: LedgerAddress<'_>,
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

/// Deletes some of the counts of days before that of `now`.
pub(crate) async fn forget_counts(connection: &mut PgConnection, now: Timestamp) -> Result<()> {
    sqlx::query!(
        "delete from confirmation_count c
         using (select workspace_id, channel, identifier, day from confirmation_count
                where day < $1 limit $2 for update skip locked) as old
         where c.workspace_id = old.workspace_id and c.channel = old.channel
             and c.identifier = old.identifier and c.day = old.day",
        now.utc().date_naive(),
        COUNTS_DELETED_AT_ONCE,
    )
    .execute(connection)
    .await?;
    Ok(())
}
