//! The worker that copies what changed.

use std::time::Duration;

use kernel::Result;
use supervisor::{Backoff, Heartbeat};

use super::{
    MirrorStores,
    copy::{Batch, copy_batch},
};
use crate::store;

/// Rest between two looks for changes.
const LOOK_EVERY: Duration = Duration::from_millis(400);
/// Longest rest after failures.
const REST_MAX: Duration = Duration::from_secs(2);
/// Failures in a row before the first warning, some ten seconds.
const WARN_FIRST: u32 = 8;
/// Failures in a row from one warning to the next, about a minute.
const WARN_EVERY: u32 = 40;

/// Copies what changed, until it is dropped. Any number of processes may do so; one of them copies at a time.
pub async fn watch(stores: MirrorStores, heartbeat: Heartbeat) {
    let mut backoff = Backoff::new(LOOK_EVERY, REST_MAX);
    let mut rest = LOOK_EVERY;
    loop {
        heartbeat.waiting(tokio::time::sleep(rest)).await;
        rest = match copy_waiting(&stores, &heartbeat).await {
            Ok(()) => {
                backoff.reset();
                LOOK_EVERY
            }
            Err(error) => {
                let rest = backoff.pause();
                // At a start the schema may not be there yet. An outage is reported by who watches the store.
                if backoff.attempts() % WARN_EVERY == WARN_FIRST && !error.is_unavailable() {
                    tracing::warn!(%error, "profiles cannot be copied to ClickHouse, trying again");
                } else {
                    tracing::debug!(%error, "profiles wait to be copied to ClickHouse");
                }
                rest
            }
        };
    }
}

/// Copies what waits, until nothing does or another process copies.
async fn copy_waiting(stores: &MirrorStores, heartbeat: &Heartbeat) -> Result<()> {
    loop {
        let waiting = store::changes::waiting(&stores.db).await?;
        metrics_catalogue::PEOPLE_MIRROR_LAG_SECONDS.set(waiting.seconds.unwrap_or(0.0));
        if waiting.seconds.is_none() && !waiting.is_rebuilding {
            return Ok(());
        }
        if heartbeat.waiting(copy_batch(stores)).await? != Batch::Full {
            return Ok(());
        }
    }
}
