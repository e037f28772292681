//! The pipeline's metrics, resolved once.

use metrics::{Counter, Histogram, counter, histogram};

pub(super) struct PipelineMetrics {
    pub events_drained: Counter,
    /// From the receipt of a chunk's oldest event to its rows being in: the worst of the chunk.
    pub visible_lag_seconds: Histogram,
    pub insert_seconds: Histogram,
    pub insert_rows: Counter,
    pub dead_letters: Counter,
}

impl PipelineMetrics {
    pub(super) fn new() -> Self {
        Self {
            events_drained: counter!("ingest_events_drained_total"),
            visible_lag_seconds: histogram!("ingest_visible_lag_seconds"),
            insert_seconds: histogram!("clickhouse_insert_duration_seconds"),
            insert_rows: counter!("clickhouse_insert_rows_total"),
            dead_letters: counter!("ingest_dead_letters_total"),
        }
    }

    /// Counts a failure; `kind` comes from a closed set in this crate.
    #[expect(clippy::unused_self, reason = "one place for all metrics; failures are rare")]
    pub(super) fn error(&self, kind: &'static str) {
        counter!("clickhouse_errors_total", "kind" => kind).increment(1);
    }
}
