//! The spool's metrics, resolved once.

use metrics_catalogue::handle::{Counter, Gauge, Histogram};

pub(super) struct SpoolMetrics {
    pub frames_appended: Counter,
    pub appended_bytes: Counter,
    /// From an append's submission until the writer took it: the longest wait of its group.
    pub queued_seconds: Histogram,
    pub write_seconds: Histogram,
    pub fsync_seconds: Histogram,
    /// From durable until the caller goes on.
    pub resume_seconds: Histogram,
    pub queued_bytes: Gauge,
    pub used_bytes: Gauge,
    pub limit_bytes: Gauge,
    pub frames_corrupt: Counter,
    pub events_enqueued: Counter,
}

impl SpoolMetrics {
    pub(super) fn new() -> Self {
        let stage = |stage| metrics_catalogue::INGEST_STAGE_DURATION_SECONDS.with([stage]);
        Self {
            frames_appended: metrics_catalogue::SPOOL_FRAMES_APPENDED.handle(),
            appended_bytes: metrics_catalogue::SPOOL_APPENDED_BYTES.handle(),
            queued_seconds: stage("queue"),
            write_seconds: stage("write"),
            resume_seconds: stage("resume"),
            fsync_seconds: metrics_catalogue::SPOOL_FSYNC_DURATION_SECONDS.handle(),
            queued_bytes: metrics_catalogue::SPOOL_QUEUED_BYTES.handle(),
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
