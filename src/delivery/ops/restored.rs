//! Messages of a database that was restored from a backup.

use kernel::{Result, Timestamp};
use sqlx::PgConnection;

use crate::store::restored as store;

/// Gives up what was about to leave when the backup was made: it has probably left since, and no message leaves twice.
/// Single messages become `unknown`, as those whose sender died, and confirmations are not sent; who waits for one asks
/// again. Messages of campaigns stay, since these are paused. Returns how many were given up.
///
/// # Errors
/// When the store fails.
pub async fn give_up(connection: &mut PgConnection, now: Timestamp) -> Result<u64> {
    let single = store::give_up_single(connection, now).await?;
    Ok(single + store::give_up_confirmations(connection).await?)
}
