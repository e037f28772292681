//! Whose turn it is: campaigns, and the outbox, take turns batch by batch, so that a large one keeps no
//! small one waiting.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use kernel::{CampaignId, Timestamp, WorkspaceId};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Batches of one lane under way at one time, in this process.
const BUSY_MAX: usize = 3;
/// Likewise while an audience is being written down, which is to be done first.
const BUSY_MAX_BESIDE: usize = 1;
/// Messages of a lane's first batch.
const SIZE_FIRST: usize = 64;
/// Messages of the largest batch.
const SIZE_MAX: usize = 256;
/// Messages of the smallest batch.
const SIZE_MIN: usize = 4;
/// A batch that takes less than this may grow.
const FAST: Duration = Duration::from_millis(700);
/// A batch that takes longer shrinks: between gate and provider lies at most about so long, and what a batch does not
/// come to in that time is put back, judged for nothing.
const SLOW: Duration = Duration::from_secs(1);

/// Messages that are sent one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// Those of no campaign.
    Outbox,
    /// Those of a campaign.
    Campaign(WorkspaceId, CampaignId),
}

/// What came of a turn.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Messages that were there.
    pub(super) claimed: usize,
    /// Messages that there was room for.
    pub(super) asked: usize,
    /// Nothing is to be had before.
    pub(super) wait_until: Option<Timestamp>,
    /// How long it took.
    pub(super) took: Duration,
}

#[derive(Debug)]
struct State {
    busy: usize,
    size: usize,
    /// The number of its last turn.
    served: u64,
    has_more: bool,
    not_before: Option<Timestamp>,
}

#[derive(Debug, Default)]
struct Turns {
    lanes: HashMap<Lane, State>,
    served: u64,
}

/// The lanes of this process.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    turns: Mutex<Turns>,
    opened: Notify,
    /// Audiences that are being written down.
    written: AtomicUsize,
}

/// An audience that is being written down, until it is dropped.
#[derive(Debug)]
pub(super) struct Writing<'l>(&'l Lanes);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.written.fetch_sub(1, Ordering::Relaxed);
        self.0.opened.notify_waiters();
    }
}

impl Lanes {
    /// Says that an audience is being written down: campaigns leave it the machine.
    pub(super) fn writing(&self) -> Writing<'_> {
        self.written.fetch_add(1, Ordering::Relaxed);
        Writing(self)
    }

    /// Opens a lane: something is due in it.
    pub(super) fn open(&self, lane: Lane) {
        let mut turns = self.turns.lock();
        let state = turns.lanes.entry(lane).or_insert(State {
            busy: 0,
            size: SIZE_FIRST,
            served: 0,
            has_more: false,
            not_before: None,
        });
        state.has_more = true;
        drop(turns);
        self.opened.notify_waiters();
    }

    /// The lane whose turn it is, and how many messages it may have: the outbox first, then whichever has
    /// the fewest batches under way and waited longest.
    pub(super) fn pick(&self, now: Timestamp) -> Option<(Lane, usize)> {
        let mut turns = self.turns.lock();
        let waits = |state: &State| state.not_before.is_some_and(|at| at > now);
        let is_beside = self.written.load(Ordering::Relaxed) > 0;
        let busy_max = |lane: &Lane| match lane {
            Lane::Campaign(..) if is_beside => BUSY_MAX_BESIDE,
            _ => BUSY_MAX,
        };
        let lane = turns
            .lanes
            .iter()
            .filter(|(lane, state)| state.has_more && state.busy < busy_max(lane) && !waits(state))
            .min_by_key(|(lane, state)| (**lane != Lane::Outbox, state.busy, state.served))
            .map(|(lane, _)| *lane)?;
        turns.served += 1;
        let turn = turns.served;
        let state = turns.lanes.get_mut(&lane)?;
        state.busy += 1;
        state.served = turn;
        Some((lane, state.size))
    }

    /// Ends a turn. A lane that did not fill its batch is empty until it is opened again.
    pub(super) fn end(&self, lane: Lane, round: &Round) {
        let mut turns = self.turns.lock();
        let Some(state) = turns.lanes.get_mut(&lane) else { return };
        state.busy = state.busy.saturating_sub(1);
        state.not_before = round.wait_until;
        if round.claimed == 0 && round.wait_until.is_none() {
            state.has_more = false;
        }
        if round.claimed > 0 {
            state.size = resized(state.size, round);
        }
        if !state.has_more && state.busy == 0 {
            turns.lanes.remove(&lane);
        }
        drop(turns);
        self.opened.notify_waiters();
    }

    /// Waits until a lane is opened or a turn ends, or for so long.
    pub(super) async fn changed(&self, longest: Duration) {
        drop(tokio::time::timeout(longest, self.opened.notified()).await);
    }
}

/// The size of the next batch.
fn resized(size: usize, round: &Round) -> usize {
    let is_full = round.claimed >= round.asked;
    if round.took > SLOW {
        (size / 2).max(SIZE_MIN)
    } else if round.took < FAST && is_full {
        (size * 2).min(SIZE_MAX)
    } else {
        size
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn lane(n: u128) -> Lane {
        Lane::Campaign(WorkspaceId::new(Uuid::from_u128(1)), CampaignId::new(Uuid::from_u128(n)))
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn full(size: usize, took_ms: u64) -> Round {
        let took = Duration::from_millis(took_ms);
        Round { claimed: size, asked: size, wait_until: None, took }
    }

    #[test]
    fn lanes_take_turns_and_the_outbox_goes_first() {
        let lanes = Lanes::default();
        for lane in [lane(1), lane(2), Lane::Outbox] {
            lanes.open(lane);
        }
        let mut picked = Vec::new();
        while let Some((lane, _)) = lanes.pick(at(0)) {
            picked.push(lane);
        }
        assert_eq!(picked.len(), 3 * BUSY_MAX);
        assert_eq!(picked[..BUSY_MAX], [Lane::Outbox; BUSY_MAX]);
        let of_one = picked[BUSY_MAX..].iter().step_by(2).all(|it| *it == picked[BUSY_MAX]);
        assert!(of_one, "campaigns alternate: {picked:?}");
    }

    #[test]
    fn an_empty_lane_gets_no_turn_until_it_is_opened_again() {
        let lanes = Lanes::default();
        lanes.open(lane(1));
        let (picked, size) = lanes.pick(at(0)).unwrap();
        lanes.end(picked, &full(size, 1));
        assert_eq!(lanes.pick(at(0)), Some((lane(1), SIZE_FIRST * 2)), "a fast one grows");
        lanes.end(picked, &Round::default());
        assert_eq!(lanes.pick(at(0)), None);
        lanes.open(lane(1));
        assert_eq!(lanes.pick(at(0)), Some((lane(1), SIZE_FIRST)));
    }

    #[test]
    fn a_lane_that_has_to_wait_is_passed_over_until_then() {
        let lanes = Lanes::default();
        lanes.open(lane(1));
        lanes.pick(at(0)).unwrap();
        lanes.end(lane(1), &Round { wait_until: Some(at(100)), ..Round::default() });
        assert_eq!(lanes.pick(at(99)), None);
        assert!(lanes.pick(at(100)).is_some());
    }

    #[test]
    fn batches_follow_how_long_they_take() {
        let table = [(64, 1, 128), (256, 1, 256), (64, 1000, 64), (64, 2000, 32), (4, 2000, 4)];
        for (size, ms, expected) in table {
            assert_eq!(resized(size, &full(size, ms)), expected, "{size} {ms}");
        }
        let part = Round { claimed: 3, asked: 64, ..Round::default() };
        assert_eq!(resized(64, &part), 64);
    }
}
