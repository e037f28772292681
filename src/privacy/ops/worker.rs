//! The worker that works on requests. One process does so at a time; where it ends or is killed, another goes on.

use std::time::Duration;

use kernel::Result;
use sqlx::Connection as _;
use supervisor::{Backoff, Heartbeat};
use tokio::time::sleep;

use super::{erasure, export};
use crate::{
    PrivacyState,
    store::{export as documents, work},
};

/// Rest between two looks for requests.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const REST_MAX: Duration = Duration::from_secs(30);
/// Failures in a row before the first warning.
const WARN_AFTER: u32 = 2;
/// Looks between two deletions of documents whose time is over.
const LOOKS_PER_DELETION: u32 = 60;

/// Rest after a batch, in times of its rewriting: tables of all workspaces are locked meanwhile, so the requests of one
/// may take a fifth of the time at most.
const RESTS_PER_REWRITING: u32 = 4;

/// Works on requests, until it is dropped.
pub async fn watch(app: PrivacyState, heartbeat: Heartbeat) {
    let mut backoff = Backoff::new(LOOK_EVERY, REST_MAX);
    let mut looks = 0;
    loop {
        heartbeat.waiting(sleep(LOOK_EVERY)).await;
        match heartbeat.waiting(work_once(&app, looks)).await {
            Ok(()) => backoff.reset(),
            Err(error) => {
                let rest = backoff.pause();
                // At a start the schema may not be there yet.
                if backoff.attempts() > WARN_AFTER {
                    tracing::warn!(%error, "privacy requests wait, trying again");
                } else {
                    tracing::debug!(%error, "privacy requests wait");
                }
                heartbeat.waiting(sleep(rest)).await;
            }
        }
        looks = (looks + 1) % LOOKS_PER_DELETION;
    }
}

async fn work_once(app: &PrivacyState, looks: u32) -> Result<()> {
    let open = work::open(app.db(), app.clock().now()).await?;
    #[expect(clippy::cast_precision_loss, reason = "gauges")]
    for (state, count) in [("pending", open.pending), ("running", open.running)] {
        metrics_catalogue::PRIVACY_REQUESTS.with([state]).set(count as f64);
    }
    metrics_catalogue::PRIVACY_OLDEST_SECONDS.set(open.oldest_seconds);
    if looks == 0 {
        documents::delete_expired(app.db(), app.clock().now()).await?;
    }
    if open.pending + open.running == 0 {
        return Ok(());
    }
    // The lock is the connection's, so it ends with the process.
    let mut connection = app.db().acquire().await?.detach();
    let worked =
        if work::try_lock(&mut connection).await? { work_on_all(app).await } else { Ok(()) };
    drop(connection.close().await);
    worked
}

async fn work_on_all(app: &PrivacyState) -> Result<()> {
    loop {
        // Exports first: of a person who is to be erased as well, it is the last time.
        while export::make_next(app).await? {}
        let Some(rewriting) = erasure::erase_batch(app).await? else { return Ok(()) };
        sleep(rewriting * RESTS_PER_REWRITING).await;
    }
}
