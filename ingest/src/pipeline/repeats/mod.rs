//! Finds events that came before, so that `events` holds each event once and `orders` each order once.
//!
//! ```text
//! keys of a chunk ─▶ filter of landed keys ─▶ new: stored
//!                                          └▶ maybe ─▶ this chunk, the one before, ClickHouse ─▶ new: stored
//!                                                                                             └▶ left out
//! ```
//!
//! # What holds
//!
//! 1. A key that the filter has not seen is in no chunk before and not in ClickHouse. It is stored without a question.
//! 2. Every other key is looked up: among the rows of the chunk, and in ClickHouse, once the chunks before it are stored
//!    that may hold it. Of several rows of one key in a chunk the first arrival stays.
//! 3. Frames that were in the spool before this run may be stored already, by the run before it. All of them are looked
//!    up, whatever the filter says; so a crash may be followed by other cuts.
//! 4. The keys of a chunk are durable in the filter's files before the cursor moves past it.

mod erased;
mod lookups;
mod stored;
mod upkeep;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    ops::Range,
    sync::Arc,
    time::Duration,
};

use landed_keys::{Fingerprints, LandedKeys, Seen};
use parking_lot::Mutex;

use self::stored::{EventKey, WorkspaceOrder};
use super::encode::Months;
use crate::{
    columns::{OrderColumns, OrderKey},
    model::calendar::partition_month,
    record::{Batch, EventView},
    spool::{Cursor, Position},
};

/// The filter's partition of orders; the others are months of events.
const ORDERS: u32 = 0;
/// Interval of looks whether a chunk before is stored.
const SETTLED_INTERVAL: Duration = Duration::from_millis(1);

pub(super) use self::{
    erased::ErasedFinder,
    lookups::{Interrupted, Lookups},
    upkeep::Upkeep,
};

pub(super) struct RepeatFinder {
    pub keys: Arc<Mutex<LandedKeys>>,
    pub fingerprints: Fingerprints,
    pub lookups: Lookups,
    /// Frames before it may be stored already.
    pub uncertain_before: Position,
    /// The consumer's cursor: what is before it is stored.
    pub cursor: Cursor,
    /// Chunks before that may not be stored yet, oldest first.
    pub unsettled: VecDeque<Unsettled>,
}

/// A chunk on its way into ClickHouse.
pub(super) struct Unsettled {
    end: Position,
    /// Fingerprints of its events and orders.
    fingerprints: Vec<u64>,
}

/// What is known about the events of a chunk.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    /// Arrival numbers of events whose key came before: they are not stored.
    pub left_out: HashSet<u64>,
    /// Events that complete an order first.
    pub orders: OrderColumns<'a>,
}

/// Rows of a chunk that may be repeats, and its orders.
#[derive(Default)]
struct Offered<'a> {
    /// Fingerprints of all events in order of arrival.
    events: Vec<u64>,
    /// Those that may have come before, and what the filter said of them first.
    maybe: HashMap<u64, Seen>,
    orders: Vec<OfferedOrder<'a>>,
}

struct OfferedOrder<'a> {
    event: EventView<'a>,
    workspace: uuid::Uuid,
    key: OrderKey,
    fingerprint: u64,
    seen: Seen,
    /// Whether the run before may have stored it.
    is_uncertain: bool,
}

impl OfferedOrder<'_> {
    fn may_be_stored(&self) -> bool {
        self.is_uncertain || self.seen == Seen::Maybe
    }
}

/// An event whose key may have come before.
struct Candidate<'a> {
    key: EventKey<'a>,
    seq: u64,
    fingerprint: u64,
    seen: Seen,
}

impl RepeatFinder {
    /// Offers the keys of a chunk to the filter, and finds out which of its events and orders came before. Adds each
    /// event to `months`, so that the batches are read once.
    pub(super) fn find<'a>(
        &mut self,
        frames: Range<Position>,
        batches: &'a [Batch],
        months: &mut Months<'a>,
    ) -> Result<Found<'a>, Interrupted> {
        let is_uncertain = frames.start < self.uncertain_before;
        let offered = self.offer(batches, is_uncertain, months)?;
        let mut found = Found::default();
        self.forget_settled();
        if !offered.maybe.is_empty() {
            self.wait_for_unsettled(|fingerprint| offered.maybe.contains_key(&fingerprint))?;
            let candidates = candidates(batches, &offered);
            found.left_out = self.repeated_events(&candidates, is_uncertain)?;
        }
        self.find_orders(&offered.orders, &mut found)?;
        let Offered { events: mut fingerprints, orders, .. } = offered;
        fingerprints.extend(orders.iter().map(|order| order.fingerprint));
        self.unsettled.push_back(Unsettled { end: frames.end, fingerprints });
        self.lookups.metrics.repeats.increment(found.left_out.len() as u64);
        Ok(found)
    }

    /// Begins to keep the keys of a month that no chunk of this run had before.
    fn begin_partition(&self, partition: u32) -> Result<(), Interrupted> {
        if !self.keys.lock().knows(partition) {
            let rows = self.lookups.ask(&async |client| stored::count(client, partition).await)?;
            self.keys.lock().begin(partition, rows);
        }
        Ok(())
    }

    fn offer<'a>(
        &self,
        batches: &'a [Batch],
        is_uncertain: bool,
        months: &mut Months<'a>,
    ) -> Result<Offered<'a>, Interrupted> {
        self.begin_partition(ORDERS)?;
        let rows = batches.iter().map(|batch| batch.header().count as usize).sum();
        let mut offered = Offered { events: Vec::with_capacity(rows), ..Offered::default() };
        let mut last = ORDERS;
        let mut partitions = Vec::new();
        for batch in batches {
            let workspace = batch.header().workspace_id;
            let (events_before, orders_before) = (offered.events.len(), offered.orders.len());
            partitions.clear();
            for event in batch.events() {
                let partition = months.push(batch.header(), &event);
                if partition != last {
                    self.begin_partition(partition)?;
                    last = partition;
                }
                partitions.push(partition);
                offered.events.push(self.fingerprints.of(event_key(workspace, &event)));
                if let Some(key) = OrderKey::of(&event) {
                    let order = WorkspaceOrder { workspace, key: key.as_str() };
                    let fingerprint = self.fingerprints.of(order);
                    let seen = Seen::Maybe;
                    offered.orders.push(OfferedOrder {
                        event,
                        workspace,
                        key,
                        fingerprint,
                        seen,
                        is_uncertain,
                    });
                }
            }
            let mut keys = self.keys.lock();
            let mut rest = &offered.events[events_before..];
            for same in partitions.chunk_by(|one, next| one == next) {
                let (fingerprints, after) = rest.split_at(same.len());
                rest = after;
                let seen = keys.offer_all(same[0], fingerprints);
                for (fingerprint, seen) in fingerprints.iter().zip(seen) {
                    if is_uncertain || seen == Seen::Maybe {
                        offered.maybe.entry(*fingerprint).or_insert(seen);
                    }
                }
            }
            for order in &mut offered.orders[orders_before..] {
                order.seen = keys.offer(ORDERS, order.fingerprint);
            }
        }
        Ok(offered)
    }

    /// Finds the events that are stored already, and all of one key but the first. The run before may have stored
    /// those of uncertain frames without making their keys durable.
    fn repeated_events(
        &self,
        candidates: &[Candidate<'_>],
        is_uncertain: bool,
    ) -> Result<HashSet<u64>, Interrupted> {
        let mut first: HashMap<EventKey<'_>, u64> = HashMap::new();
        for candidate in candidates {
            let seq = first.entry(candidate.key).or_insert(candidate.seq);
            *seq = candidate.seq.min(*seq);
        }
        let asked: Vec<EventKey<'_>> = first.keys().copied().collect();
        self.lookups.metrics.looked_up.increment(asked.len() as u64);
        let stored = self.lookups.ask(&async |client| stored::events(client, &asked).await)?;
        let mut repeated = HashSet::new();
        let mut keys = self.keys.lock();
        for candidate in candidates {
            let is_repeat =
                stored.contains(&candidate.key) || first[&candidate.key] != candidate.seq;
            if is_repeat {
                repeated.insert(candidate.seq);
            }
            if candidate.seen == Seen::Maybe && (is_uncertain || !is_repeat) {
                keys.record(partition_month(candidate.key.day), candidate.fingerprint);
            }
        }
        Ok(repeated)
    }

    /// Finds the events that complete an order first.
    fn find_orders<'a>(
        &self,
        offered: &[OfferedOrder<'a>],
        found: &mut Found<'a>,
    ) -> Result<(), Interrupted> {
        let mut first: HashMap<WorkspaceOrder<'_>, &OfferedOrder<'a>> = HashMap::new();
        let mut maybe: HashMap<u64, WorkspaceOrder<'_>> = HashMap::new();
        for order in offered {
            if found.left_out.contains(&order.event.seq) {
                continue;
            }
            let key = WorkspaceOrder { workspace: order.workspace, key: order.key.as_str() };
            if order.may_be_stored() {
                maybe.insert(order.fingerprint, key);
            }
            let earliest = first.entry(key).or_insert(order);
            if order.event.seq < earliest.event.seq {
                *earliest = order;
            }
        }
        if !maybe.is_empty() {
            self.wait_for_unsettled(|fingerprint| maybe.contains_key(&fingerprint))?;
            let asked: Vec<WorkspaceOrder<'_>> = maybe.into_values().collect();
            self.lookups.metrics.looked_up.increment(asked.len() as u64);
            let stored = self.lookups.ask(&async |client| stored::orders(client, &asked).await)?;
            let mut keys = self.keys.lock();
            first.retain(|key, order| {
                let is_stored = stored.contains(key);
                if is_stored && order.is_uncertain && order.seen == Seen::Maybe {
                    keys.record(ORDERS, order.fingerprint);
                }
                !is_stored
            });
        }
        let mut keys = self.keys.lock();
        for order in first.into_values() {
            if order.seen == Seen::Maybe {
                keys.record(ORDERS, order.fingerprint);
            }
            found.orders.push(order.workspace, order.key.clone(), order.event);
        }
        Ok(())
    }

    fn forget_settled(&mut self) {
        let stored = self.cursor.committed().position;
        while self.unsettled.front().is_some_and(|chunk| chunk.end <= stored) {
            self.unsettled.pop_front();
        }
    }

    /// Waits until the chunks before are stored that may hold a key that matters.
    fn wait_for_unsettled(&self, matters: impl Fn(u64) -> bool) -> Result<(), Interrupted> {
        let holds = |chunk: &&Unsettled| chunk.fingerprints.iter().any(|it| matters(*it));
        let Some(newest) = self.unsettled.iter().rev().find(holds) else { return Ok(()) };
        while self.cursor.committed().position < newest.end {
            self.lookups.check()?;
            std::thread::sleep(SETTLED_INTERVAL);
        }
        Ok(())
    }
}

/// The events whose keys may have come before, those of this chunk that they may repeat among them. Most batches have
/// none, and are not read again.
fn candidates<'a>(batches: &'a [Batch], offered: &Offered<'_>) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::new();
    let mut rest = offered.events.as_slice();
    for batch in batches {
        let (fingerprints, after) = rest.split_at(batch.events().len());
        rest = after;
        if !fingerprints.iter().any(|it| offered.maybe.contains_key(it)) {
            continue;
        }
        let workspace = batch.header().workspace_id;
        for (event, fingerprint) in batch.events().zip(fingerprints) {
            if let Some(seen) = offered.maybe.get(fingerprint) {
                let (key, seq) = (event_key(workspace, &event), event.seq);
                candidates.push(Candidate { key, seq, fingerprint: *fingerprint, seen: *seen });
            }
        }
    }
    candidates
}

fn event_key<'a>(workspace: uuid::Uuid, event: &EventView<'a>) -> EventKey<'a> {
    EventKey { workspace, name: event.event_name, day: event.day, id: event.event_id }
}
