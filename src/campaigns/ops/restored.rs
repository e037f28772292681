//! Campaigns of a database that was restored from a backup.

use kernel::{Result, Timestamp};
use sqlx::PgConnection;

use crate::store;

/// Pauses all campaigns that would send by themselves; returns how many. What they sent after the backup was made is
/// not known, so a person decides which of them go on.
///
/// # Errors
/// When the store fails.
pub async fn pause_restored(connection: &mut PgConnection, now: Timestamp) -> Result<u64> {
    store::pause_all(connection, now).await
}
