//! Copies identifiers to ClickHouse, where questions about events join them.

use std::time::Duration;

use analytics::identities::{self, ROWS_MAX};
use kernel::Result;
use sqlx::PgConnection;
use supervisor::Heartbeat;
use web::Services;

use crate::store::mirror as store;

/// Rest between two looks for identifiers that changed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Copies what changed, until it is dropped. Any number of processes may do so: a copy that is made twice is the same.
pub async fn watch(services: Services, heartbeat: Heartbeat) {
    loop {
        heartbeat.waiting(tokio::time::sleep(LOOK_EVERY)).await;
        while let Some(copied) = copy(&services).await {
            heartbeat.beat();
            if copied < ROWS_MAX {
                break;
            }
        }
    }
}

/// Copies a page and returns its size; none when a store is away.
async fn copy(services: &Services) -> Option<usize> {
    match copy_page(services).await {
        Ok(copied) => Some(copied),
        Err(error) => {
            tracing::debug!(%error, "identifiers wait to be copied to ClickHouse");
            None
        }
    }
}

async fn copy_page(services: &Services) -> Result<usize> {
    let limit = i64::try_from(ROWS_MAX).unwrap_or(i64::MAX);
    let page = store::waiting(services.db(), limit).await?;
    metrics_catalogue::IDENTITY_MIRROR_LAG_SECONDS.set(page.seconds_behind);
    if page.queued.is_empty() {
        return Ok(0);
    }
    for rows in page.rows.chunks(ROWS_MAX) {
        identities::store(services.analytics(), rows).await?;
    }
    store::forget(services.db(), &page.queued).await?;
    Ok(page.version_count)
}

/// Has all identifiers copied again, to a ClickHouse that has none: of a database that was restored from a backup.
///
/// # Errors
/// When the store fails.
pub async fn restart(connection: &mut PgConnection) -> Result<()> {
    store::all_wait(connection).await
}
