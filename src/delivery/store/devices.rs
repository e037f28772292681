//! Devices that take push notifications. A token is somebody's who registered it last.

use std::collections::HashMap;

use kernel::{Error, Result, Timestamp, UserId, WorkspaceId};
use providers::model::{Device, NewDevice, Platform};
use sqlx::PgConnection;

/// The devices of these users, of each the one that was registered last first. Who has none is absent.
///
/// # Errors
/// When the store fails.
pub async fn of_users(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, Vec<Device>>> {
    let ids: Vec<Vec<u8>> = users.iter().map(|user| user.bytes().to_vec()).collect();
    let rows = sqlx::query!(
        "select user_id, token, platform, p256dh, auth
         from device
         where workspace_id = $1 and user_id = any($2)
         order by user_id, updated_at desc, token",
        workspace.uuid(),
        &ids,
    )
    .fetch_all(connection)
    .await?;
    let mut devices: HashMap<UserId, Vec<Device>> = HashMap::new();
    for row in rows {
        let user: [u8; 12] = row.user_id.as_slice().try_into().map_err(anyhow::Error::from)?;
        let platform = Platform::named(&row.platform)
            .ok_or_else(|| Error::internal("a device of no known platform"))?;
        let device = Device { token: row.token, platform, p256dh: row.p256dh, auth: row.auth };
        devices.entry(UserId::from_bytes(user)).or_default().push(device);
    }
    Ok(devices)
}

/// Forgets devices of which a provider said that they are no more. One that was registered again since
/// the message was handed over, at `handed_over_at`, is another one by the same name, and stays.
///
/// # Errors
/// When the store fails.
pub async fn forget(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    tokens: &[String],
    handed_over_at: Timestamp,
) -> Result<u64> {
    let done = sqlx::query!(
        "delete from device where workspace_id = $1 and token = any($2) and updated_at <= $3",
        workspace.uuid(),
        tokens,
        handed_over_at.utc(),
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Keeps everybody else from giving this user devices until the transaction ends; false for a profile
/// that is not there or not active.
pub(crate) async fn lock_user(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<bool> {
    let row = sqlx::query_scalar!(
        "select true
         from users
         where workspace_id = $1 and id = $2 and deleted_at is null
         for no key update",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.is_some())
}

/// Gives a device to a user, whoever had it before, unless that was proven and this is not; says whether it was
/// not known.
pub(crate) async fn put(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    new: &NewDevice,
) -> Result<bool> {
    let NewDevice { user, device, app_id, is_proven } = new;
    let is_new = sqlx::query_scalar!(
        r#"insert into device as known
             (workspace_id, token, user_id, platform, p256dh, auth, app_id, proven, created_at,
              updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $9, $8, $8)
         on conflict (workspace_id, token) do update
         set user_id = excluded.user_id, platform = excluded.platform, p256dh = excluded.p256dh,
             auth = excluded.auth, app_id = excluded.app_id, proven = excluded.proven,
             updated_at = greatest(known.updated_at, excluded.updated_at)
         where excluded.proven or not known.proven
         returning (xmax = 0) as "is_new!""#,
        workspace.uuid(),
        device.token,
        &user.bytes()[..],
        device.platform.as_str(),
        device.p256dh,
        device.auth,
        app_id.as_deref(),
        now.utc(),
        is_proven,
    )
    .fetch_optional(connection)
    .await?;
    Ok(is_new.unwrap_or(false))
}

/// Leaves a user so many devices, proven ones first, of each kind those registered last; gives how many went.
pub(crate) async fn trim(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
    devices_max: i64,
) -> Result<u64> {
    let done = sqlx::query!(
        "delete from device
         where workspace_id = $1 and token in (
             select token
             from device
             where workspace_id = $1 and user_id = $2
             order by proven desc, updated_at desc, created_at desc, token
             offset $3)",
        workspace.uuid(),
        &user.bytes()[..],
        devices_max,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Forgets a device of a user; false where none of theirs has that token.
pub(crate) async fn remove_of(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
    token: &str,
) -> Result<bool> {
    let done = sqlx::query!(
        "delete from device where workspace_id = $1 and token = $2 and user_id = $3",
        workspace.uuid(),
        token,
        &user.bytes()[..],
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Forgets a device that was registered without a user token; false where no such one has that token.
pub(crate) async fn remove_unproven(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    token: &str,
) -> Result<bool> {
    let done = sqlx::query!(
        "delete from device where workspace_id = $1 and token = $2 and not proven",
        workspace.uuid(),
        token,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Whether any device has that token.
pub(crate) async fn exists(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    token: &str,
) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"select exists (select from device where workspace_id = $1 and token = $2) as "found!""#,
        workspace.uuid(),
        token,
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}
