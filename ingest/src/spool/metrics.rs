//! The spool's metrics, resolved once.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

pub(super) struct SpoolMetrics {
    pub frames_appended: Counter,
    pub appended_bytes: Counter,
    pub fsync_seconds: Histogram,
    pub used_bytes: Gauge,
    pub limit_bytes: Gauge,
    pub frames_corrupt: Counter,
    pub events_enqueued: Counter,
}

impl SpoolMetrics {
    pub(super) fn new() -> Self {
        Self {
            frames_appended: counter!("wal_frames_appended_total"),
            appended_bytes: counter!("wal_appended_bytes_total"),
            fsync_seconds: histogram!("wal_fsync_duration_seconds"),
            used_bytes: gauge!("wal_used_bytes"),
            limit_bytes: gauge!("wal_limit_bytes"),
            frames_corrupt: counter!("wal_frames_corrupt_total"),
            events_enqueued: counter!("ingest_events_enqueued_total"),
        }
    }
}

impl std::fmt::Debug for SpoolMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SpoolMetrics")
    }
}
