//! Devices that receive push notifications.

use kernel::{Error, Result, Timestamp, UserId, WorkspaceId};
use providers::model::NewDevice;
use sqlx::PgPool;
use web::db;

use crate::store::devices;

pub use crate::store::devices::{ListedDevice, delete, of_users};

/// Devices of one user. A further device replaces the one that was registered first; devices without a user token
/// are replaced before the others.
pub const DEVICES_PER_USER_MAX: i64 = 20;
/// The answer to the removal of another user's device.
const ANOTHER_PERSON: Error = Error::Denied("the device is another person's");

/// Registers a device, also one that is registered already: it becomes this user's device, unless it was registered
/// with a user token and this call has none. Returns whether the token was unknown.
///
/// # Errors
/// Not found without such a profile.
pub async fn register(
    db: &PgPool,
    workspace: WorkspaceId,
    now: Timestamp,
    new: &NewDevice,
) -> Result<bool> {
    db::retried(|| register_once(db, workspace, now, new)).await
}

async fn register_once(
    db: &PgPool,
    workspace: WorkspaceId,
    now: Timestamp,
    new: &NewDevice,
) -> Result<bool> {
    let mut tx = db.begin().await?;
    if !devices::lock_user(&mut tx, workspace, new.user).await? {
        return Err(Error::NotFound("User"));
    }
    let is_new = devices::put(&mut tx, workspace, now, new).await?;
    devices::trim(&mut tx, workspace, new.user, DEVICES_PER_USER_MAX).await?;
    tx.commit().await?;
    Ok(is_new)
}

/// The devices of an active profile, the last registered first.
///
/// # Errors
/// Not found without such a profile.
pub async fn list(db: &PgPool, workspace: WorkspaceId, user: UserId) -> Result<Vec<ListedDevice>> {
    let profile = contacts::users::ops::by_id(db, workspace, user).await?;
    devices::list(db, workspace, profile.id).await
}

/// Removes a device of this user. Without a profile the device belongs to another user, or does not exist.
///
/// # Errors
/// Denied for another user's device, not found for an unknown token.
pub async fn remove(
    db: &PgPool,
    workspace: WorkspaceId,
    user: Option<UserId>,
    token: &str,
) -> Result<()> {
    let mut connection = db.acquire().await?;
    if let Some(user) = user
        && devices::remove_of(&mut connection, workspace, user, token).await?
    {
        return Ok(());
    }
    if devices::exists(&mut connection, workspace, token).await? {
        Err(ANOTHER_PERSON)
    } else {
        Err(Error::NotFound("Device"))
    }
}

/// Removes a device that was registered without a user token.
///
/// # Errors
/// Not found without such a device.
pub async fn remove_unproven(db: &PgPool, workspace: WorkspaceId, token: &str) -> Result<()> {
    let mut connection = db.acquire().await?;
    if devices::remove_unproven(&mut connection, workspace, token).await? {
        Ok(())
    } else {
        Err(Error::NotFound("Device"))
    }
}
