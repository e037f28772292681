//! A workspace that has listeners.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{Arrival, Queue, Wanted};

/// Events of a workspace that are offered to its listeners in a second: accepted ones, and refused ones.
pub const CHECKED_PER_SECOND: u64 = 5_000;
/// Bytes of events that are offered in a second.
pub const CHECKED_BYTES_PER_SECOND: usize = 4 << 20;
const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Watched {
    pub(super) accepted: Budget,
    pub(super) rejected: Budget,
    queues: Mutex<Vec<Arc<Queue>>>,
}

/// How much of what arrives is offered.
#[derive(Debug, Default)]
pub(super) struct Budget {
    used: Mutex<Option<Used>>,
    passed_over: AtomicU64,
}

/// What was offered in a second.
#[derive(Debug)]
struct Used {
    since: Instant,
    events: u64,
    bytes: usize,
}

impl Budget {
    /// Whether so much may be offered now. The first of a second always may.
    pub(super) fn admits(&self, events: u64, bytes: usize) -> bool {
        self.admits_at(Instant::now(), events, bytes)
    }

    pub(super) fn admits_at(&self, now: Instant, events: u64, bytes: usize) -> bool {
        let mut used = self.used.lock();
        match &mut *used {
            Some(used) if now.saturating_duration_since(used.since) < SECOND => {
                let has_room = used.events + events <= CHECKED_PER_SECOND
                    && used.bytes + bytes <= CHECKED_BYTES_PER_SECOND;
                if has_room {
                    used.events += events;
                    used.bytes += bytes;
                }
                has_room
            }
            _ => {
                *used = Some(Used { since: now, events, bytes });
                true
            }
        }
    }

    /// Counts events that are not offered.
    pub(super) fn pass_over(&self, events: u64) {
        self.passed_over.fetch_add(events, Ordering::Relaxed);
    }
}

impl Watched {
    pub(super) fn add(&self, queue: Arc<Queue>) {
        self.queues.lock().push(queue);
    }

    pub(super) fn remove(&self, queue: &Arc<Queue>) {
        self.queues.lock().retain(|other| !Arc::ptr_eq(other, queue));
    }

    pub(super) fn len(&self) -> usize {
        self.queues.lock().len()
    }

    pub(super) fn close(&self) {
        for queue in self.queues.lock().iter() {
            queue.close();
        }
    }

    pub(super) fn offer(&self, arrival: &Arrival) {
        for queue in self.queues.lock().iter() {
            queue.offer(arrival);
        }
    }

    /// Events that were not offered so far, of those that are wanted.
    pub(super) fn passed_over(&self, wanted: Wanted) -> u64 {
        let of = |budget: &Budget, is_wanted| {
            if is_wanted { budget.passed_over.load(Ordering::Relaxed) } else { 0 }
        };
        of(&self.accepted, wanted.accepted).wrapping_add(of(&self.rejected, wanted.rejected))
    }
}
