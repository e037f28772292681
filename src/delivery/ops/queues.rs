//! Fair scheduling: campaigns and the outbox are served batch by batch in turn, so that a large campaign does not
//! delay a small one.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use kernel::{CampaignId, Timestamp, WorkspaceId};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Batches of one queue in flight at one time, in this process.
const BUSY_MAX: usize = 3;
/// Likewise while an audience is being materialised, which has priority.
const BUSY_MAX_BESIDE: usize = 1;
/// Messages of a queue's first batch.
const SIZE_FIRST: usize = 64;
/// Messages of the largest batch.
const SIZE_MAX: usize = 256;
/// Messages of the smallest batch.
const SIZE_MIN: usize = 4;
/// A batch that takes less than this may grow.
const FAST: Duration = Duration::from_millis(700);
/// A batch that takes longer shrinks: it bounds the time between the eligibility check and the provider call, and
/// messages that a batch does not reach in that time are released and checked again.
const SLOW: Duration = Duration::from_secs(1);

/// Messages that are sent in one order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SendQueue {
    /// Messages without a campaign.
    Outbox,
    /// Messages of a campaign.
    Campaign(WorkspaceId, CampaignId),
}

/// The result of one batch.
#[derive(Debug, Default)]
pub(crate) struct BatchReport {
    /// Messages that were claimed.
    pub(crate) claimed: usize,
    /// Messages that were asked for.
    pub(crate) asked: usize,
    /// The queue has nothing due before this.
    pub(crate) wait_until: Option<Timestamp>,
    /// Duration of the batch.
    pub(crate) took: Duration,
}

#[derive(Debug)]
struct State {
    busy: usize,
    size: usize,
    /// Sequence number of its last batch.
    served: u64,
    has_more: bool,
    not_before: Option<Timestamp>,
}

#[derive(Debug, Default)]
struct FairScheduler {
    queues: HashMap<SendQueue, State>,
    served: u64,
}

/// The queues of this process.
#[derive(Debug, Default)]
pub(crate) struct SendQueues {
    scheduler: Mutex<FairScheduler>,
    opened: Notify,
    /// Audiences that are being materialised.
    materialising: AtomicUsize,
}

/// Held while an audience is being materialised.
#[derive(Debug)]
pub(crate) struct Materialising<'q>(&'q SendQueues);

impl Drop for Materialising<'_> {
    fn drop(&mut self) {
        self.0.materialising.fetch_sub(1, Ordering::Relaxed);
        self.0.opened.notify_waiters();
    }
}

impl SendQueues {
    /// Marks that an audience is being materialised: campaigns use fewer batches meanwhile.
    pub(crate) fn materialise(&self) -> Materialising<'_> {
        self.materialising.fetch_add(1, Ordering::Relaxed);
        Materialising(self)
    }

    /// Opens a queue: something is due in it.
    pub(crate) fn open(&self, queue: SendQueue) {
        let mut scheduler = self.scheduler.lock();
        let state = scheduler.queues.entry(queue).or_insert(State {
            busy: 0,
            size: SIZE_FIRST,
            served: 0,
            has_more: false,
            not_before: None,
        });
        state.has_more = true;
        drop(scheduler);
        self.opened.notify_waiters();
    }

    /// The next queue and the size of its batch: the outbox first, then the queue with the fewest batches in flight
    /// that waited longest.
    pub(crate) fn pick(&self, now: Timestamp) -> Option<(SendQueue, usize)> {
        let mut scheduler = self.scheduler.lock();
        let waits = |state: &State| state.not_before.is_some_and(|at| at > now);
        let is_beside = self.materialising.load(Ordering::Relaxed) > 0;
        let busy_max = |queue: &SendQueue| match queue {
            SendQueue::Campaign(..) if is_beside => BUSY_MAX_BESIDE,
            _ => BUSY_MAX,
        };
        let queue = scheduler
            .queues
            .iter()
            .filter(|(queue, state)| {
                state.has_more && state.busy < busy_max(queue) && !waits(state)
            })
            .min_by_key(|(queue, state)| (**queue != SendQueue::Outbox, state.busy, state.served))
            .map(|(queue, _)| *queue)?;
        scheduler.served += 1;
        let turn = scheduler.served;
        let state = scheduler.queues.get_mut(&queue)?;
        state.busy += 1;
        state.served = turn;
        Some((queue, state.size))
    }

    /// Ends a batch. A queue that gave nothing is closed until it is opened again.
    pub(crate) fn end(&self, queue: SendQueue, batch: &BatchReport) {
        let mut scheduler = self.scheduler.lock();
        let Some(state) = scheduler.queues.get_mut(&queue) else { return };
        state.busy = state.busy.saturating_sub(1);
        state.not_before = batch.wait_until;
        if batch.claimed == 0 && batch.wait_until.is_none() {
            state.has_more = false;
        }
        if batch.claimed > 0 {
            state.size = resized(state.size, batch);
        }
        if !state.has_more && state.busy == 0 {
            scheduler.queues.remove(&queue);
        }
        drop(scheduler);
        self.opened.notify_waiters();
    }

    /// Waits until a queue is opened, a batch ends, or what a queue waits for is due, or for so long.
    pub(crate) async fn changed(&self, now: Timestamp, longest: Duration) {
        let pause = self.next(now).map_or(longest, |at| at.duration_since(now).min(longest));
        drop(tokio::time::timeout(pause, self.opened.notified()).await);
    }

    /// When the first of the queues that wait has something due.
    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let scheduler = self.scheduler.lock();
        let waiting = scheduler.queues.values().filter(|state| state.has_more);
        waiting.filter_map(|state| state.not_before).filter(|at| *at > now).min()
    }
}

/// The size of the next batch.
fn resized(size: usize, batch: &BatchReport) -> usize {
    let is_full = batch.claimed >= batch.asked;
    if batch.took > SLOW {
        (size / 2).max(SIZE_MIN)
    } else if batch.took < FAST && is_full {
        (size * 2).min(SIZE_MAX)
    } else {
        size
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn queue(n: u128) -> SendQueue {
        SendQueue::Campaign(
            WorkspaceId::new(Uuid::from_u128(1)),
            CampaignId::new(Uuid::from_u128(n)),
        )
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn full(size: usize, took_ms: u64) -> BatchReport {
        let took = Duration::from_millis(took_ms);
        BatchReport { claimed: size, asked: size, wait_until: None, took }
    }

    #[test]
    fn queues_are_served_in_turn_and_the_outbox_goes_first() {
        let queues = SendQueues::default();
        for queue in [queue(1), queue(2), SendQueue::Outbox] {
            queues.open(queue);
        }
        let mut picked = Vec::new();
        while let Some((queue, _)) = queues.pick(at(0)) {
            picked.push(queue);
        }
        assert_eq!(picked.len(), 3 * BUSY_MAX);
        assert_eq!(picked[..BUSY_MAX], [SendQueue::Outbox; BUSY_MAX]);
        let of_one = picked[BUSY_MAX..].iter().step_by(2).all(|it| *it == picked[BUSY_MAX]);
        assert!(of_one, "campaigns alternate: {picked:?}");
    }

    #[test]
    fn an_empty_queue_is_not_served_until_it_is_opened_again() {
        let queues = SendQueues::default();
        queues.open(queue(1));
        let (picked, size) = queues.pick(at(0)).unwrap();
        queues.end(picked, &full(size, 1));
        assert_eq!(queues.pick(at(0)), Some((queue(1), SIZE_FIRST * 2)), "a fast one grows");
        queues.end(picked, &BatchReport::default());
        assert_eq!(queues.pick(at(0)), None);
        queues.open(queue(1));
        assert_eq!(queues.pick(at(0)), Some((queue(1), SIZE_FIRST)));
    }

    #[test]
    fn a_queue_with_nothing_due_is_skipped_until_then() {
        let queues = SendQueues::default();
        queues.open(queue(1));
        queues.pick(at(0)).unwrap();
        queues.end(queue(1), &BatchReport { wait_until: Some(at(100)), ..BatchReport::default() });
        assert_eq!(queues.pick(at(99)), None);
        assert_eq!(queues.next(at(99)), Some(at(100)), "senders do not sleep beyond it");
        assert!(queues.pick(at(100)).is_some());
        assert_eq!(queues.next(at(100)), None);
    }

    #[test]
    fn batches_follow_how_long_they_take() {
        let table = [(64, 1, 128), (256, 1, 256), (64, 1000, 64), (64, 2000, 32), (4, 2000, 4)];
        for (size, ms, expected) in table {
            assert_eq!(resized(size, &full(size, ms)), expected, "{size} {ms}");
        }
        let part = BatchReport { claimed: 3, asked: 64, ..BatchReport::default() };
        assert_eq!(resized(64, &part), 64);
    }
}
