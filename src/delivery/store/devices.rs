//! Devices for push notifications. A token belongs to the profile that registered it last.

use std::collections::HashMap;

use kernel::{Error, Result, Timestamp, UserId, WorkspaceId};
use providers::model::{Device, NewDevice, Platform};
use sqlx::{PgConnection, PgPool};

/// The devices of these users, the last registered first. Users without devices are absent.
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
        let platform = platform(&row.platform)?;
        let device = Device { token: row.token, platform, p256dh: row.p256dh, auth: row.auth };
        devices.entry(UserId::from_bytes(user)).or_default().push(device);
    }
    Ok(devices)
}

/// A device as it was registered.
#[derive(Debug, Clone)]
pub struct ListedDevice {
    pub token: String,
    pub platform: Platform,
    pub app_id: Option<String>,
    /// Whether it was registered with a user token.
    pub is_proven: bool,
    pub created_at: Timestamp,
    /// When it was registered last.
    pub updated_at: Timestamp,
}

/// The devices of a user, the last registered first.
pub(crate) async fn list(
    db: &PgPool,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<ListedDevice>> {
    let rows = sqlx::query!(
        "select token, platform, app_id, proven, created_at, updated_at
         from device
         where workspace_id = $1 and user_id = $2
         order by updated_at desc, token",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_all(db)
    .await?;
    let devices = rows.into_iter().map(|row| {
        Ok(ListedDevice {
            platform: platform(&row.platform)?,
            token: row.token,
            app_id: row.app_id,
            is_proven: row.proven,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        })
    });
    devices.collect()
}

fn platform(name: &str) -> Result<Platform> {
    Platform::named(name).ok_or_else(|| Error::internal("a device of no known platform"))
}

/// Deletes devices that a provider reported as gone. A device that was registered again after `sent_at`, when the message
/// was sent, is not deleted: the report is about its earlier registration.
///
/// # Errors
/// When the store fails.
pub async fn delete(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    tokens: &[String],
    sent_at: Timestamp,
) -> Result<u64> {
    let done = sqlx::query!(
        "delete from device where workspace_id = $1 and token = any($2) and updated_at <= $3",
        workspace.uuid(),
        tokens,
        sent_at.utc(),
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Locks a user against other registrations until the transaction ends; false for an unknown or deleted profile.
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

/// Assigns a device to a user, and takes it from another one, unless the earlier registration was proven and this one is
/// not. Returns whether the device is new.
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

/// Deletes the devices of a user beyond `devices_max`; keeps proven ones first, then the last registered. Returns how
/// many were deleted.
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

/// Deletes a device of a user; false if the user has no device with this token.
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

/// Deletes a device that was registered without a user token; false if none has this token.
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

/// Whether a device has this token.
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
