//! A copy of everything, where ClickHouse was emptied or restored, or PostgreSQL was.

use std::time::Duration;

use kernel::Result;
use sqlx::PgConnection;

use super::{
    MirrorStores,
    copy::{Batch, copy_batch},
};
use crate::store;

/// Rest while another process copies.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Copies all profiles and campaigns again, and marks copies as deleted whose profile or campaign does not exist. Works
/// beside servers, which take part; returns when everything is copied. When it is ended before, servers go on.
///
/// # Errors
/// When one of the stores is away.
pub async fn rebuild(stores: &MirrorStores) -> Result<()> {
    store::rebuild::request(&stores.db).await?;
    while store::rebuild::is_under_way(&stores.db).await? {
        if copy_batch(stores).await? == Batch::Elsewhere {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
    Ok(())
}

/// Asks for a copy of everything, which the next server makes: in the transaction in which a backup is restored.
///
/// # Errors
/// When the store fails.
pub async fn request_rebuild(connection: &mut PgConnection) -> Result<()> {
    store::rebuild::request(connection).await
}
