//! Devices come with an app and go with it.

use kernel::{Error, Result, Timestamp, UserId, WorkspaceId};
use providers::model::NewDevice;
use sqlx::PgPool;
use web::db;

use crate::store::devices;

pub use crate::store::devices::{delete, of_users};

/// Devices of one user; a further one takes the place of the one that was registered longest ago, of those
/// without a user token first.
pub const DEVICES_PER_USER_MAX: i64 = 20;
/// Whoever is to forget a device is not whose it is.
const ANOTHER_PERSON: Error = Error::Denied("the device is another person's");

/// Registers a device, or again: it is this user's from now on, whoever had it before, unless that was proven
/// and this is not. Says whether it was not known.
///
/// # Errors
/// Not found for a profile that is not there.
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

/// Forgets a device of this user; of nobody where there is no profile.
///
/// # Errors
/// Denied where the device is another user's, not found where none has that token.
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

/// Forgets a device that was registered without a user token.
///
/// # Errors
/// Not found where no such device has that token.
pub async fn remove_unproven(db: &PgPool, workspace: WorkspaceId, token: &str) -> Result<()> {
    let mut connection = db.acquire().await?;
    if devices::remove_unproven(&mut connection, workspace, token).await? {
        Ok(())
    } else {
        Err(Error::NotFound("Device"))
    }
}
