//! The pipeline's metrics, resolved once.

use metrics_catalogue::handle::{Counter, Histogram};

pub(super) struct PipelineMetrics {
    pub events_drained: Counter,
    /// From the receipt of a chunk's oldest event to its rows being in: the worst of the chunk.
    pub visible_lag_seconds: Histogram,
    pub insert_seconds: Histogram,
    pub insert_rows: Counter,
    pub dead_letters: Counter,
    /// Events left out because their key was stored before.
    pub repeats: Counter,
    /// Keys that the filter took for ones that may be stored.
    pub looked_up: Counter,
}

impl PipelineMetrics {
    pub(super) fn new() -> Self {
        Self {
            events_drained: metrics_catalogue::INGEST_EVENTS_DRAINED.handle(),
            visible_lag_seconds: metrics_catalogue::INGEST_VISIBLE_LAG_SECONDS.handle(),
            insert_seconds: metrics_catalogue::CLICKHOUSE_INSERT_DURATION_SECONDS.handle(),
            insert_rows: metrics_catalogue::CLICKHOUSE_INSERT_ROWS.handle(),
            dead_letters: metrics_catalogue::INGEST_DEAD_LETTERS.handle(),
            repeats: metrics_catalogue::INGEST_REPEATS_LEFT_OUT.handle(),
            looked_up: metrics_catalogue::INGEST_KEYS_LOOKED_UP.handle(),
        }
    }

    /// Counts a failure; `kind` comes from a closed set in this crate.
    #[expect(clippy::unused_self, reason = "one place for all metrics; failures are rare")]
    pub(super) fn error(&self, kind: &'static str) {
        metrics_catalogue::CLICKHOUSE_ERRORS.with([kind]).increment(1);
    }
}
