//! The door of the write path: a request's body in, a durable verdict out.
//!
//! Admission costs CPU only and runs on the caller's thread; then the batch waits for one group
//! commit of the spool. Nothing is answered before that, and nothing of a request is kept when the
//! spool has no room for all of it.

use std::{cell::RefCell, sync::Arc};

use metrics::{Counter, counter};
use uuid::Uuid;

use crate::{
    admit::{Admitted, Admitter, BodyError, Context, Rejected, Shape},
    record::Sequence,
    spool::{AppendError, Entry, Spool},
    window::Window,
};

thread_local! {
    /// Buffers of the parser, one set a worker thread.
    static ADMITTER: RefCell<Admitter> = RefCell::default();
}

/// How the door is set up.
#[derive(Debug, Clone, Copy)]
pub struct IntakeOptions {
    /// Recent ids of server-stamped events that are remembered.
    pub window_entries: usize,
}

/// The verdict on a request, given once what was accepted is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To a single event.
    One {
        /// The id it is stored under.
        event_id: String,
    },
    /// To an array.
    Many {
        /// Elements received.
        processed: usize,
        /// Elements recorded, repeats of recorded ones included.
        accepted: usize,
        /// The others, in order.
        rejected: Vec<Rejected>,
    },
}

/// Why nothing of a request was recorded.
#[derive(Debug, thiserror::Error)]
pub enum TrackError {
    /// The body is no event and no array of events.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A single event that breaks rules: one message per failed field.
    #[error("event is invalid: {}", .0.join("; "))]
    Invalid(Vec<String>),
    /// There is no room on the way to the disk, or on the disk: come back later.
    #[error("no room: {0}")]
    Saturated(AppendError),
    /// The disk refused.
    #[error("event could not be stored")]
    Storage(#[source] AppendError),
}

/// The door; clones are handles to the same one.
#[derive(Clone)]
pub struct Intake(Arc<Inner>);

struct Inner {
    spool: Spool,
    window: Window,
    window_entries: usize,
    sequence: Sequence,
    counters: Counters,
}

struct Counters {
    accepted: Counter,
    rejected: Counter,
    refused_queue: Counter,
    refused_disk: Counter,
    refused_storage: Counter,
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake").field("spool", &self.0.spool).finish_non_exhaustive()
    }
}

impl Counters {
    fn register() -> Self {
        let refused = |reason| counter!("ingest_requests_refused_total", "reason" => reason);
        Self {
            accepted: counter!("ingest_events_accepted_total"),
            rejected: counter!("ingest_events_rejected_total", "reason" => "invalid"),
            refused_queue: refused("queue_full"),
            refused_disk: refused("spool_full"),
            refused_storage: refused("storage"),
        }
    }

    fn refuse(&self, error: &AppendError) {
        match error {
            AppendError::QueueFull | AppendError::Closed => self.refused_queue.increment(1),
            AppendError::Full { .. } => self.refused_disk.increment(1),
            AppendError::TooLarge { .. } | AppendError::Io(_) => self.refused_storage.increment(1),
        }
    }
}

impl Intake {
    /// A door to this spool.
    pub fn new(spool: Spool, options: IntakeOptions) -> Self {
        Self(Arc::new(Inner {
            spool,
            window: Window::with_capacity(options.window_entries),
            window_entries: options.window_entries,
            sequence: Sequence::default(),
            counters: Counters::register(),
        }))
    }

    /// Ids of server-stamped events that are remembered at most.
    pub fn window_entries_max(&self) -> usize {
        self.0.window_entries
    }

    /// Remembers a server-stamped event that was recorded before this process started.
    pub fn remember(&self, workspace_id: Uuid, event_id: &str, timestamp_ms: i64) {
        self.0.window.seed(workspace_id, event_id, timestamp_ms);
    }

    /// Records the event or events of a request's body; returns once they are durable.
    ///
    /// # Errors
    /// When the body has not the shape of a request, when a single event breaks a rule, or when the
    /// spool cannot take it. Nothing of the request is recorded then.
    pub async fn track(
        &self,
        workspace_id: Uuid,
        body: Vec<u8>,
        received_at_ms: i64,
    ) -> Result<Answer, TrackError> {
        let inner = &*self.0;
        let admitted = ADMITTER.with_borrow_mut(|admitter| {
            let (window, sequence) = (&inner.window, &inner.sequence);
            let context = Context { workspace_id, received_at_ms, window, sequence };
            admitter.admit(&body, &context)
        })?;
        drop(body);
        let Admitted { shape, processed, accepted, event_id, rejected, batch, claims } = admitted;
        inner.counters.rejected.increment(rejected.len() as u64);
        if let Some(batch) = batch {
            let entry = Entry {
                payload: batch.as_bytes().clone(),
                events: batch.header().count,
                at_ms: received_at_ms.unsigned_abs(),
            };
            inner.spool.append(entry).await.map_err(|error| {
                inner.counters.refuse(&error);
                saturated_or_broken(error)
            })?;
            inner.window.confirm(&claims);
        }
        inner.counters.accepted.increment(accepted as u64);
        match (shape, event_id) {
            (Shape::One, Some(event_id)) => Ok(Answer::One { event_id }),
            (Shape::One, None) => {
                Err(TrackError::Invalid(rejected.into_iter().flat_map(|one| one.errors).collect()))
            }
            (Shape::Many, _) => Ok(Answer::Many { processed, accepted, rejected }),
        }
    }
}

fn saturated_or_broken(error: AppendError) -> TrackError {
    match error {
        AppendError::Full { .. } | AppendError::QueueFull | AppendError::Closed => {
            TrackError::Saturated(error)
        }
        AppendError::TooLarge { .. } | AppendError::Io(_) => TrackError::Storage(error),
    }
}
