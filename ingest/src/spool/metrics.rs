//! The spool's metrics, resolved once.

use metrics_catalogue::handle::{Counter, Gauge, Histogram};

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
            frames_appended: metrics_catalogue::SPOOL_FRAMES_APPENDED.handle(),
            appended_bytes: metrics_catalogue::SPOOL_APPENDED_BYTES.handle(),
            fsync_seconds: metrics_catalogue::SPOOL_FSYNC_DURATION_SECONDS.handle(),
            used_bytes: metrics_catalogue::SPOOL_USED_BYTES.handle(),
            limit_bytes: metrics_catalogue::SPOOL_LIMIT_BYTES.handle(),
            frames_corrupt: metrics_catalogue::SPOOL_FRAMES_CORRUPT.handle(),
            events_enqueued: metrics_catalogue::INGEST_EVENTS_ENQUEUED.handle(),
        }
    }
}

impl std::fmt::Debug for SpoolMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SpoolMetrics")
    }
}
