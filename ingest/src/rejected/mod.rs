//! Events that were refused, on their way to where they are listed.
//!
//! They are diagnostics and never slow down ingest: of each workspace a bounded number waits in memory, the newest, and
//! the others are counted. Those of public keys, with which anyone can send, have bounds of their own. A worker takes what
//! waits about once a second. What waits is lost when the process is killed.

mod elements;
mod sample;
mod secrets;
mod waiting;

#[cfg(test)]
mod tests;

use std::{borrow::Cow, sync::Arc};

use metrics_catalogue::handle::Counter;
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::waiting::WaitingByClass;
use crate::live::LiveEvents;

pub use crate::model::rejection::{EventSource, KeptRejection};

pub(crate) use self::elements::RejectedCalls;
use self::secrets::without_secrets;
pub use self::{
    sample::first_value,
    waiting::{RejectedBatch, UnlistedEvents},
};

/// Bytes of a refused event's text that are kept.
pub const BODY_SAMPLE_BYTES_MAX: usize = 2 << 10;
/// Bytes of a reason that are kept.
pub const REASON_BYTES_MAX: usize = 1 << 10;
/// Bytes of a name or an id that are kept: 255 characters.
pub const TEXT_BYTES_MAX: usize = 1020;

/// An event that was refused. What is longer than its limit is cut.
#[derive(Debug, Clone, Default)]
pub struct RejectedEvent<'a> {
    /// Its name, where it has one.
    pub name: Option<&'a str>,
    /// The user id, where it has one.
    pub user_id: Option<&'a str>,
    /// The id that its sender gave it, where there is one.
    pub event_id: Option<&'a str>,
    /// What is wrong with it.
    pub reason: Cow<'a, str>,
    /// Its text as it was sent; what follows its first JSON value is ignored.
    pub body: &'a [u8],
}

/// Takes the events that were refused. Clones share what waits.
#[derive(Debug, Clone)]
pub struct RejectedEvents(Arc<Inner>);

struct Inner {
    live: LiveEvents,
    waiting: Mutex<WaitingByClass>,
    arrived: Notify,
    unlisted: Counter,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RejectedEvents").finish_non_exhaustive()
    }
}

impl RejectedEvents {
    /// Nothing waits yet. Listeners of `live` see what is reported.
    pub fn new(live: LiveEvents) -> Self {
        Self(Arc::new(Inner {
            live,
            waiting: Mutex::default(),
            arrived: Notify::new(),
            unlisted: metrics_catalogue::INGEST_EVENTS_REJECTED_UNLISTED.handle(),
        }))
    }

    /// Takes events of one request that were refused, in the order in which they were sent. Never waits.
    pub fn report(&self, source: EventSource<'_>, at_ms: i64, events: &[RejectedEvent<'_>]) {
        self.report_some(source, at_ms, events, events.len());
    }

    /// Likewise, of so many in all: those that are not named are counted only.
    fn report_some(
        &self,
        source: EventSource<'_>,
        at_ms: i64,
        events: &[RejectedEvent<'_>],
        in_all: usize,
    ) {
        if events.is_empty() {
            return;
        }
        let limit = self.0.waiting.lock().of(source).limit(source.workspace_id);
        let newest = events.get(events.len().saturating_sub(limit)..).unwrap_or_default();
        let kept: Vec<Arc<KeptRejection>> =
            newest.iter().map(|event| Arc::new(event.keep(source, at_ms))).collect();
        let in_all = in_all.max(events.len());
        self.0.live.offer_rejected(source.workspace_id, &kept, in_all);
        let cut = (in_all - kept.len()) as u64;
        let unlisted = self.0.waiting.lock().of(source).push(source.workspace_id, at_ms, kept, cut);
        self.0.unlisted.increment(unlisted);
        self.0.arrived.notify_one();
    }

    /// Waits until something was refused, and takes it.
    pub async fn next_batch(&self) -> RejectedBatch {
        loop {
            let arrived = self.0.arrived.notified();
            let batch = self.take();
            if !batch.is_empty() {
                return batch;
            }
            arrived.await;
        }
    }

    /// Takes what waits, without waiting for more.
    pub fn take(&self) -> RejectedBatch {
        self.0.waiting.lock().take()
    }
}

impl RejectedEvent<'_> {
    /// What is kept of it: texts within their limits.
    pub fn keep(&self, source: EventSource<'_>, at_ms: i64) -> KeptRejection {
        let text = |text: Option<&str>| text.map(|text| storable(text, TEXT_BYTES_MAX));
        let value = first_value(self.body, BODY_SAMPLE_BYTES_MAX);
        KeptRejection {
            workspace_id: source.workspace_id,
            key_id: storable(source.key_id, TEXT_BYTES_MAX),
            is_public: source.is_public,
            at_ms,
            name: text(self.name),
            user_id: text(self.user_id),
            event_id: text(self.event_id),
            reason: storable(&self.reason, REASON_BYTES_MAX),
            body: storable(&String::from_utf8_lossy(value), BODY_SAMPLE_BYTES_MAX),
        }
    }
}

/// A text cut at a limit, without secrets and without the one character that PostgreSQL does not store.
fn storable(text: &str, bytes_max: usize) -> String {
    let (kept, _) = text.split_at(text.floor_char_boundary(bytes_max));
    let kept = without_secrets(kept).replace('\0', " ");
    // A short secret is shorter than what stands for it.
    let (kept, _) = kept.split_at(kept.floor_char_boundary(bytes_max));
    kept.to_owned()
}
