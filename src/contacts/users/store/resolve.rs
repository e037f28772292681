//! Finds and locks the profiles that create-or-updates select.

use std::collections::{HashMap, HashSet};

use kernel::{Result, UserId, WorkspaceId};
use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;

use super::{bytes_of, user_id};
use crate::users::model::Upsert;

/// Addresses that any server can lock one by one. PostgreSQL has room for a few thousand such locks in all
/// (`max_locks_per_transaction` × `max_connections`).
const ADDRESS_LOCKS_FEW: usize = 64;
/// Requests that may hold their greatest number of locks at the same time.
const SHARES: i64 = 16;

/// The profile that a create-or-update selects.
#[derive(Debug, Clone)]
pub(in crate::users) struct ResolvedUser {
    pub id: UserId,
    /// Its address when it was found.
    pub email: Option<String>,
    /// It has no external id and gets the one sent with its address.
    pub is_adopted: bool,
    /// The external id is a further one: that of a profile merged into it, or an alias.
    pub is_merged: bool,
}

/// Finds the profile of each of these, in order, without locking.
pub(in crate::users) async fn find(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    upserts: &[&Upsert],
) -> Result<Vec<Option<ResolvedUser>>> {
    let ids: Vec<Option<Vec<u8>>> =
        upserts.iter().map(|one| one.internal_id().map(|id| id.bytes().to_vec())).collect();
    let external_ids: Vec<Option<&str>> = upserts.iter().map(|one| one.external_id()).collect();
    let emails: Vec<Option<&str>> = upserts.iter().map(|one| one.adopting_email()).collect();
    let rows = sqlx::query!(
        r#"select wish.place as "place!", coalesce(by_id.id, by_external.id, by_email.id) as "id!",
             coalesce(by_id.email, by_external.email, by_email.email) as email,
             (wish.external_id is not null and by_external.id is null) as "is_adopted!",
             (named.merged_into is not null) as "is_merged!"
         from unnest($2::bytea[], $3::text[], $4::text[]) with ordinality
             as wish (id, external_id, email, place)
         left join users stated on stated.workspace_id = $1 and stated.id = wish.id
         left join users by_id
             on by_id.workspace_id = $1 and by_id.id = coalesce(stated.merged_into, stated.id)
                 and by_id.deleted_at is null
         left join users named
             on named.workspace_id = $1 and named.external_id = wish.external_id
                 and (named.deleted_at is null or named.keeps_external_id)
         left join users by_external
             on by_external.workspace_id = $1 and by_external.id = coalesce(named.merged_into, named.id)
                 and by_external.deleted_at is null
         left join lateral (
             select u.id, u.email
             from users u
             where wish.id is null and by_external.id is null
                 and u.workspace_id = $1 and u.email = wish.email and u.deleted_at is null
                 and (wish.external_id is null or u.external_id is null)
             order by u.updated_at desc, u.id
             limit 1
         ) by_email on true
         where coalesce(by_id.id, by_external.id, by_email.id) is not null"#,
        workspace.uuid(),
        &ids as &[Option<Vec<u8>>],
        &external_ids as &[Option<&str>],
        &emails as &[Option<&str>],
    )
    .fetch_all(tx)
    .await?;
    let mut found = vec![None; upserts.len()];
    for row in rows {
        let place = usize::try_from(row.place - 1).map_err(anyhow::Error::from)?;
        let id = user_id(&row.id)?;
        let (is_adopted, is_merged) = (row.is_adopted, row.is_merged);
        found[place] = Some(ResolvedUser { id, email: row.email, is_adopted, is_merged });
    }
    Ok(found)
}

/// Those of these ids that profiles have as their internal id: active, deleted or merged ones.
pub(in crate::users) async fn internal_ids(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    ids: &[UserId],
) -> Result<HashSet<UserId>> {
    if ids.is_empty() {
        return Ok(HashSet::new());
    }
    let found = sqlx::query_scalar!(
        "select id from users where workspace_id = $1 and id = any($2)",
        workspace.uuid(),
        &bytes_of(ids.iter().copied()),
    )
    .fetch_all(tx)
    .await?;
    found.iter().map(|id| user_id(id)).collect()
}

/// Greatest number of addresses that one request locks one by one, so that concurrent requests have room too.
pub(in crate::users) async fn address_locks_max(tx: &mut PgConnection) -> Result<usize> {
    let room = sqlx::query_scalar!(
        r#"select current_setting('max_locks_per_transaction')::bigint
             * current_setting('max_connections')::bigint as "room!""#
    )
    .fetch_one(tx)
    .await?;
    Ok(usize::try_from(room / SHARES).unwrap_or(0).max(ADDRESS_LOCKS_FEW))
}

/// Prevents other transactions from creating profiles with these addresses until this one ends. With more than
/// `one_by_one_max` addresses, all of the workspace are locked. To prevent deadlocks, these locks are taken
/// before any row lock: the workspace's lock first, then the others in the order of their numbers.
pub(in crate::users) async fn lock_addresses(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    emails: &[&str],
    one_by_one_max: usize,
) -> Result<()> {
    let whole = lock_number(workspace, "");
    if emails.len() > one_by_one_max {
        sqlx::query!("select pg_advisory_xact_lock($1)", whole).execute(tx).await?;
        return Ok(());
    }
    sqlx::query!("select pg_advisory_xact_lock_shared($1)", whole).execute(&mut *tx).await?;
    let mut numbers: Vec<i64> = emails.iter().map(|email| lock_number(workspace, email)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    sqlx::query!("select pg_advisory_xact_lock(number) from unnest($1::bigint[]) number", &numbers)
        .execute(tx)
        .await?;
    Ok(())
}

/// The same on every server. Two addresses with the same number only wait for each other unnecessarily.
fn lock_number(workspace: WorkspaceId, email: &str) -> i64 {
    let digest = Sha256::new()
        .chain_update(b"users.email\0")
        .chain_update(workspace.uuid().as_bytes())
        .chain_update(email.as_bytes())
        .finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(first)
}

/// An active profile, locked until the transaction ends.
#[derive(Debug, Clone)]
pub(in crate::users) struct LockedUser {
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
}

/// Locks profiles in the order of their ids. Profiles that are not active are left out.
pub(in crate::users) async fn lock(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    ids: &[UserId],
) -> Result<HashMap<UserId, LockedUser>> {
    let ids = bytes_of(ids.iter().copied());
    let rows = sqlx::query!(
        "select id, external_id, email, phone
         from users
         where workspace_id = $1 and id = any($2) and deleted_at is null
         order by id
         for no key update",
        workspace.uuid(),
        &ids,
    )
    .fetch_all(tx)
    .await?;
    rows.into_iter()
        .map(|row| {
            let locked =
                LockedUser { external_id: row.external_id, email: row.email, phone: row.phone };
            Ok((user_id(&row.id)?, locked))
        })
        .collect()
}
