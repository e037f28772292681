//! Events as they arrive, for listeners: accepted ones once they are durable, and refused ones.
//!
//! Ingest never waits for a listener. Without one an offer is a single atomic load. Each listener has a queue of bounded
//! size; what does not fit is counted. So that listeners cost little whatever arrives, only so many events a second of
//! a workspace are offered to them ([`CHECKED_PER_SECOND`]); the others are counted too.
//!
//! Consumers of the spool are no way to this: they have a durable cursor that holds segments back, and its frames do not
//! say which key an event came with. An event whose sender has gone before the answer is not offered.

mod queue;
mod watched;

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use parking_lot::RwLock;
use uuid::Uuid;

use self::{queue::Queue, watched::Watched};
use crate::{
    admit::calls::{AdjustedCalls, LiveNotes},
    model::rejection::{EventSource, KeptRejection},
    record::{Batch, BatchBuilder, BatchKind, ProfileBatchBuilder},
};

pub use self::{
    queue::{QUEUE_BYTES_MAX, QUEUE_LENGTH_MAX},
    watched::{CHECKED_BYTES_PER_SECOND, CHECKED_PER_SECOND},
};

/// Listeners of one workspace.
pub const WORKSPACE_LISTENERS_MAX: usize = 10;
/// Listeners of all workspaces together.
pub const LISTENERS_MAX: usize = 64;
/// Bytes of a batch that is queued, its last event apart; of a larger one the first events are.
const BATCH_BYTES_MAX: usize = 256 << 10;

/// What a listener wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Whether events that were recorded.
    pub accepted: bool,
    /// Whether events that were refused.
    pub rejected: bool,
}

/// What arrived with one request, or one refused event of it.
#[derive(Debug, Clone)]
pub enum Arrival {
    /// Events, or changes of profiles, of one request that are durable; of a large one the first.
    Accepted {
        /// Their records, in the order of arrival.
        batch: Batch,
        /// The public id of the key they came with.
        key_id: Arc<str>,
        /// What was changed about them; none where that was not noted.
        adjusted: Option<Arc<AdjustedCalls>>,
    },
    /// An event that was refused.
    Rejected(Arc<KeptRejection>),
}

/// Why no further listener is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ListenError {
    /// The workspace has [`WORKSPACE_LISTENERS_MAX`].
    #[error("the workspace has too many listeners")]
    OfWorkspace,
    /// There are [`LISTENERS_MAX`] already.
    #[error("there are too many listeners")]
    InAll,
    /// The process is stopping.
    #[error("the process is stopping")]
    Closed,
}

/// Offers events to listeners. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct LiveEvents(Arc<Hub>);

#[derive(Debug, Default)]
struct Hub {
    listeners: AtomicUsize,
    closed: AtomicBool,
    workspaces: RwLock<HashMap<Uuid, Arc<Watched>>>,
}

impl LiveEvents {
    /// Listens to a workspace, until the listener is dropped.
    ///
    /// # Errors
    /// When there are too many listeners, or the process is stopping.
    pub fn listen(&self, workspace: Uuid, wanted: Wanted) -> Result<Listener, ListenError> {
        let hub = &self.0;
        let mut workspaces = hub.workspaces.write();
        if hub.closed.load(Ordering::Acquire) {
            return Err(ListenError::Closed);
        }
        if workspaces.get(&workspace).is_some_and(|it| it.len() >= WORKSPACE_LISTENERS_MAX) {
            return Err(ListenError::OfWorkspace);
        }
        if hub.listeners.load(Ordering::Acquire) >= LISTENERS_MAX {
            return Err(ListenError::InAll);
        }
        let watched = Arc::clone(workspaces.entry(workspace).or_default());
        let queue = Arc::new(Queue::new(wanted));
        watched.add(Arc::clone(&queue));
        hub.listeners.fetch_add(1, Ordering::AcqRel);
        metrics_catalogue::INGEST_LIVE_LISTENERS.handle().increment(1.0);
        let passed_over = watched.passed_over(wanted);
        Ok(Listener { live: self.clone(), workspace, watched, queue, passed_over })
    }

    /// Whether anyone listens to this workspace.
    pub fn has_listeners(&self, workspace: Uuid) -> bool {
        self.watched(workspace).is_some()
    }

    /// Ends all listeners, and refuses new ones.
    pub fn close(&self) {
        let workspaces = self.0.workspaces.write();
        self.0.closed.store(true, Ordering::Release);
        for watched in workspaces.values() {
            watched.close();
        }
    }

    /// Offers events of one request that have become durable.
    pub(crate) fn offer_accepted(&self, source: EventSource<'_>, batch: &Batch) {
        self.offer_calls(source, batch, None);
    }

    /// Offers what calls of one request became, with what was noted about them.
    pub(crate) fn offer_calls(
        &self,
        source: EventSource<'_>,
        batch: &Batch,
        notes: Option<&LiveNotes>,
    ) {
        let Some(watched) = self.watched(source.workspace_id) else { return };
        let count = u64::from(batch.header().count);
        if !watched.accepted.admits(count, batch.as_bytes().len()) {
            watched.accepted.pass_over(count);
            return;
        }
        let Some(batch) = beginning(batch) else { return };
        watched.accepted.pass_over(count - u64::from(batch.header().count));
        let adjusted = notes.map(|notes| Arc::clone(&notes.adjusted));
        watched.offer(&Arrival::Accepted { batch, key_id: source.key_id.into(), adjusted });
    }

    /// Offers events of one request that were refused, the last of so many.
    pub fn offer_rejected(&self, workspace: Uuid, events: &[Arc<KeptRejection>], count: usize) {
        let Some(watched) = self.watched(workspace) else { return };
        watched.rejected.pass_over((count - events.len()) as u64);
        for event in events {
            if watched.rejected.admits(1, event.bytes()) {
                watched.offer(&Arrival::Rejected(Arc::clone(event)));
            } else {
                watched.rejected.pass_over(1);
            }
        }
    }

    fn watched(&self, workspace: Uuid) -> Option<Arc<Watched>> {
        if self.0.listeners.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.0.workspaces.read().get(&workspace).map(Arc::clone)
    }
}

impl Arrival {
    /// How many events are in it.
    pub fn count(&self) -> u64 {
        match self {
            Self::Accepted { batch, .. } => u64::from(batch.header().count),
            Self::Rejected(_) => 1,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Accepted { batch, adjusted, .. } => {
                batch.as_bytes().len() + adjusted.as_ref().map_or(0, |it| it.bytes())
            }
            Self::Rejected(event) => event.bytes(),
        }
    }
}

/// The batch, or the first events of a large one.
fn beginning(batch: &Batch) -> Option<Batch> {
    if batch.as_bytes().len() <= BATCH_BYTES_MAX {
        return Some(batch.clone());
    }
    let header = batch.header();
    if header.kind == BatchKind::Profiles {
        let mut builder = ProfileBatchBuilder::default();
        let mut bytes = 0;
        for call in batch.profile_calls() {
            builder.push(&call);
            bytes += call.bytes();
            if bytes >= BATCH_BYTES_MAX {
                break;
            }
        }
        return builder.finish(header.workspace_id, header.received_at_ms, header.first_seq);
    }
    let mut builder = BatchBuilder::with_capacity(BATCH_BYTES_MAX);
    for event in batch.events() {
        builder.push(&event);
        if builder.position() >= BATCH_BYTES_MAX {
            break;
        }
    }
    builder.finish(header.workspace_id, header.received_at_ms, header.first_seq)
}

/// Receives what arrives in one workspace.
#[derive(Debug)]
pub struct Listener {
    live: LiveEvents,
    workspace: Uuid,
    watched: Arc<Watched>,
    queue: Arc<Queue>,
    /// Events of the workspace that were passed over, as far as they were reported.
    passed_over: u64,
}

impl Listener {
    /// The next arrival; none once [`LiveEvents::close`] was called. Safe to cancel.
    pub async fn next(&self) -> Option<Arrival> {
        self.queue.next().await
    }

    /// How many events did not come through here since the last call, of those that were wanted.
    pub fn take_missed(&mut self) -> u64 {
        let passed_over = self.watched.passed_over(self.queue.wanted());
        let since = passed_over.wrapping_sub(self.passed_over);
        self.passed_over = passed_over;
        since + self.queue.take_missed()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let hub = &self.live.0;
        let mut workspaces = hub.workspaces.write();
        self.watched.remove(&self.queue);
        if self.watched.len() == 0 {
            workspaces.remove(&self.workspace);
        }
        hub.listeners.fetch_sub(1, Ordering::AcqRel);
        metrics_catalogue::INGEST_LIVE_LISTENERS.handle().decrement(1.0);
    }
}
