//! Refused events: stored in batches by a worker, listed, deleted after seven days.

use std::{sync::Arc, time::Duration};

use ingest::rejected::{EventSource, RejectedBatch, RejectedEvent};
use kernel::{Result, Timestamp, WorkspaceId};
use sqlx::PgConnection;
use supervisor::{Backoff, Heartbeat};
use web::Services;

use crate::events::{
    model::rejected::{LISTED_FOR, RefusedEvents, WantedRefusals},
    store::rejected as store,
};

/// Pause between two batches, which bounds how much is lost when the process is killed.
const BATCH_INTERVAL: Duration = Duration::from_millis(500);
/// The first and the longest pause after a failure, for example before the schema exists.
const FAILED_PAUSE: Duration = Duration::from_millis(250);
const FAILED_PAUSE_MAX: Duration = Duration::from_secs(5);
/// Attempts to store a batch, some minutes; then a newer one takes its place.
const ATTEMPTS_MAX: u32 = 60;

/// Stores refused events until it is dropped.
pub async fn watch(app: Services, heartbeat: Heartbeat) {
    loop {
        let batch = heartbeat.waiting(app.intake().rejected().next_batch()).await;
        store_patiently(&app, &batch, &heartbeat).await;
        heartbeat.waiting(tokio::time::sleep(BATCH_INTERVAL)).await;
    }
}

async fn store_patiently(app: &Services, batch: &RejectedBatch, heartbeat: &Heartbeat) {
    let mut backoff = Backoff::new(FAILED_PAUSE, FAILED_PAUSE_MAX);
    while let Err(error) = heartbeat.waiting(store_batch(app, batch)).await {
        if backoff.attempts() == 0 {
            tracing::warn!(%error, "refused events are not stored, trying again");
        }
        if backoff.attempts() >= ATTEMPTS_MAX {
            let events = batch.events.len() as u64;
            metrics_catalogue::INGEST_EVENTS_REJECTED_UNLISTED.increment(events);
            tracing::error!(%error, events, "refused events could not be stored and are lost");
            return;
        }
        heartbeat.waiting(tokio::time::sleep(backoff.pause())).await;
    }
}

/// Stores what waits, at the end of a process.
pub async fn flush(app: &Services) {
    let batch = app.intake().rejected().take();
    if !batch.is_empty()
        && let Err(error) = store_batch(app, &batch).await
    {
        tracing::warn!(%error, events = batch.events.len(), "refused events were not stored");
    }
}

async fn store_batch(app: &Services, batch: &RejectedBatch) -> Result<()> {
    let mut tx = app.db().begin().await?;
    store::store(&mut tx, batch).await?;
    tx.commit().await?;
    Ok(())
}

/// Lists events that a rule refused after they were acknowledged, and shows them to listeners. Those that are listed
/// already are left out, so that events that are read again are listed once.
///
/// # Errors
/// When the store is away.
pub async fn list_late(
    app: &Services,
    source: EventSource<'_>,
    events: &[RejectedEvent<'_>],
) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let workspace = WorkspaceId::new(source.workspace_id);
    let at_ms = app.clock().now().millis();
    let kept = events.iter().map(|event| Arc::new(event.keep(source, at_ms))).collect();
    let mut tx = app.db().begin().await?;
    let new = store::store_new(&mut tx, workspace, kept).await?;
    tx.commit().await?;
    app.intake().live().offer_rejected(source.workspace_id, &new, new.len());
    Ok(())
}

/// The newest refused events of a workspace, of the last seven days, and the number of all since a time.
///
/// # Errors
/// When the store is away.
pub async fn list(
    app: &Services,
    workspace: WorkspaceId,
    wanted: WantedRefusals,
) -> Result<RefusedEvents> {
    let since = wanted.since.max(listed_since(app.clock().now()));
    store::list(app.db(), workspace, WantedRefusals { since, ..wanted }).await
}

/// Since when refused events are listed.
pub fn listed_since(now: Timestamp) -> Timestamp {
    now.before(LISTED_FOR)
}

/// Deletes a page of refused events that are older; returns how many.
///
/// # Errors
/// When the store is away.
pub async fn delete_page(
    connection: &mut PgConnection,
    before: Timestamp,
    limit: i64,
) -> Result<u64> {
    store::delete_expired(connection, before, limit).await
}
