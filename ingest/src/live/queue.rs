//! The queue of one listener.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Arrival, Wanted};

/// Bytes that wait for a listener.
pub const QUEUE_BYTES_MAX: usize = 1 << 20;
/// Arrivals that wait for a listener.
pub const QUEUE_LENGTH_MAX: usize = 4_096;

#[derive(Debug)]
pub(super) struct Queue {
    wanted: Wanted,
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    arrivals: VecDeque<Arrival>,
    bytes: usize,
    /// Events that did not fit.
    missed: u64,
    closed: bool,
}

impl Queue {
    pub(super) fn new(wanted: Wanted) -> Self {
        Self { wanted, waiting: Mutex::default(), changed: Notify::new() }
    }

    pub(super) fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// Adds an arrival that is wanted, or counts it where it does not fit.
    pub(super) fn offer(&self, arrival: &Arrival) {
        let is_wanted = match arrival {
            Arrival::Accepted { .. } => self.wanted.accepted,
            Arrival::Rejected(_) => self.wanted.rejected,
        };
        if !is_wanted {
            return;
        }
        let bytes = arrival.bytes();
        let mut waiting = self.waiting.lock();
        if waiting.bytes + bytes > QUEUE_BYTES_MAX || waiting.arrivals.len() >= QUEUE_LENGTH_MAX {
            waiting.missed += arrival.count();
            return;
        }
        waiting.bytes += bytes;
        waiting.arrivals.push_back(arrival.clone());
        // A listener that has not taken the one before was notified of that.
        let is_first = waiting.arrivals.len() == 1;
        drop(waiting);
        if is_first {
            self.changed.notify_one();
        }
    }

    pub(super) fn close(&self) {
        self.waiting.lock().closed = true;
        self.changed.notify_one();
    }

    pub(super) async fn next(&self) -> Option<Arrival> {
        loop {
            let changed = self.changed.notified();
            {
                let mut waiting = self.waiting.lock();
                if waiting.closed {
                    return None;
                }
                if let Some(arrival) = waiting.arrivals.pop_front() {
                    waiting.bytes -= arrival.bytes();
                    return Some(arrival);
                }
            }
            changed.await;
        }
    }

    pub(super) fn take_missed(&self) -> u64 {
        std::mem::take(&mut self.waiting.lock().missed)
    }
}
