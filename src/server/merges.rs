//! Metrics of ClickHouse's parts and merges.

use std::time::Duration;

use analytics::{Analytics, AnalyticsError, parts};
use supervisor::Heartbeat;

const INTERVAL: Duration = Duration::from_secs(15);

/// Keeps the metrics up to date. Another task reports whether ClickHouse is reachable; meanwhile they stay as they were.
pub(super) async fn watch(analytics: Analytics, heartbeat: Heartbeat) {
    loop {
        if let Err(error) = measure(&analytics).await {
            tracing::debug!(%error, "parts and merges of ClickHouse are not known");
        }
        heartbeat.waiting(tokio::time::sleep(INTERVAL)).await;
    }
}

async fn measure(analytics: &Analytics) -> Result<(), AnalyticsError> {
    for found in parts::of_tables(analytics).await? {
        #[expect(clippy::cast_precision_loss, reason = "tables have thousands of parts at most")]
        let parts = found.parts as f64;
        metrics_catalogue::CLICKHOUSE_PARTS.with([found.table]).set(parts);
    }
    let merges = parts::running_merges(analytics).await?;
    #[expect(clippy::cast_precision_loss, reason = "some run at once")]
    metrics_catalogue::CLICKHOUSE_MERGES.set(merges as f64);
    Ok(())
}
