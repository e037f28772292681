//! One part of the window: entries in order of arrival by workspace, and an index into them.

use std::collections::HashMap;

use ahash::RandomState;
use uuid::Uuid;

/// Slots of the index when it is first needed.
const INDEX_SLOTS_MIN: usize = 16;
/// Follows the newest entry of a workspace.
const NONE: u32 = u32::MAX;

/// An id and when it was first seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    fingerprint: [u64; 2],
    /// Twice the time in milliseconds, plus one when durable.
    state: i64,
    /// The next younger entry of the same workspace.
    next: u32,
}

impl Entry {
    pub(super) fn first_ms(&self) -> i64 {
        self.state >> 1
    }

    pub(super) fn is_durable(&self) -> bool {
        self.state & 1 == 1
    }

    pub(super) fn confirm(&mut self) {
        self.state |= 1;
    }

    /// Begins anew at `first_ms`, not durable.
    pub(super) fn restart(&mut self, first_ms: i64) {
        self.state = first_ms << 1;
    }
}

/// The entries of one workspace, oldest first.
#[derive(Debug, Clone, Copy)]
struct Queue {
    workspace: Uuid,
    oldest: u32,
    newest: u32,
    entries: usize,
}

/// A set with open addressing (linear probing, no tombstones). When it is full, each workspace keeps its
/// share, which is the capacity divided by the workspaces that have entries. A workspace may use more
/// than its share as long as others leave room; that is taken back first. Within a workspace the oldest
/// entry leaves first.
#[derive(Debug)]
pub(super) struct Shard {
    entries: Vec<Entry>,
    capacity: usize,
    /// Position in `entries` plus one, or zero; at most half full.
    index: Vec<u32>,
    queues: Vec<Queue>,
    /// Numbers of queues that no workspace uses.
    unused: Vec<u32>,
    numbers: HashMap<Uuid, u32, RandomState>,
    /// Where to look first for a workspace above its share.
    last_crowded: usize,
}

impl Shard {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: Vec::new(),
            capacity,
            index: Vec::new(),
            queues: Vec::new(),
            unused: Vec::new(),
            numbers: HashMap::default(),
            last_crowded: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn find(&mut self, fingerprint: [u64; 2]) -> Option<&mut Entry> {
        let slot = self.slot_of(fingerprint)?;
        let position = self.index[slot] as usize - 1;
        self.entries.get_mut(position)
    }

    /// Adds an id of a workspace that is not there.
    pub(super) fn insert(
        &mut self,
        workspace: Uuid,
        fingerprint: [u64; 2],
        first_ms: i64,
        is_durable: bool,
    ) {
        debug_assert!(self.slot_of(fingerprint).is_none());
        let queue = self.queue_of(workspace);
        let state = first_ms << 1 | i64::from(is_durable);
        let entry = Entry { fingerprint, state, next: NONE };
        let position = if self.entries.len() < self.capacity {
            self.entries.push(entry);
            let position = self.entries.len() - 1;
            if self.entries.len() * 2 > self.index.len() {
                self.grow_index();
            } else {
                self.index_position(position);
            }
            position
        } else {
            let crowded = self.crowded_queue(queue as usize);
            let position = self.take_oldest_of(crowded);
            self.entries[position] = entry;
            self.index_position(position);
            if crowded != queue as usize {
                self.forget_if_empty(crowded);
            }
            position
        };
        self.append(queue as usize, small(position));
    }

    /// The number of a workspace's queue, which is made when it has none.
    fn queue_of(&mut self, workspace: Uuid) -> u32 {
        if let Some(number) = self.numbers.get(&workspace) {
            return *number;
        }
        let queue = Queue { workspace, oldest: NONE, newest: NONE, entries: 0 };
        let number = if let Some(number) = self.unused.pop() {
            self.queues[number as usize] = queue;
            number
        } else {
            self.queues.push(queue);
            small(self.queues.len() - 1)
        };
        self.numbers.insert(workspace, number);
        number
    }

    /// Whose oldest entry makes room for one of `own`: its own when it has its share, else one of a
    /// workspace that has more than its share. There is one: the shard is full.
    fn crowded_queue(&self, own: usize) -> usize {
        let share = (self.capacity / self.numbers.len().max(1)).max(1);
        if self.queues[own].entries >= share {
            return own;
        }
        let has_more_than = |least: usize| {
            let count = self.queues.len();
            (0..count)
                .map(|step| (self.last_crowded + step) % count)
                .find(|queue| self.queues[*queue].entries > least)
        };
        // More workspaces than room: one entry each is all there is.
        has_more_than(share).or_else(|| has_more_than(0)).unwrap_or(own)
    }

    /// Takes the oldest entry of a queue out of it and out of the index; gives its position.
    fn take_oldest_of(&mut self, number: usize) -> usize {
        self.last_crowded = number;
        let queue = &mut self.queues[number];
        let position = queue.oldest as usize;
        let oldest = self.entries[position];
        queue.oldest = oldest.next;
        queue.entries -= 1;
        if queue.entries == 0 {
            queue.newest = NONE;
        }
        self.unindex(oldest.fingerprint);
        position
    }

    fn forget_if_empty(&mut self, number: usize) {
        let queue = self.queues[number];
        if queue.entries == 0 {
            self.numbers.remove(&queue.workspace);
            self.unused.push(small(number));
        }
    }

    fn append(&mut self, number: usize, position: u32) {
        let newest = self.queues[number].newest;
        if newest == NONE {
            self.queues[number].oldest = position;
        } else {
            self.entries[newest as usize].next = position;
        }
        self.queues[number].newest = position;
        self.queues[number].entries += 1;
    }

    fn home(&self, fingerprint: [u64; 2]) -> usize {
        let mask = self.index.len() - 1;
        usize::try_from(fingerprint[1] & mask as u64).unwrap_or_default()
    }

    /// The slot that points at the id's entry.
    fn slot_of(&self, fingerprint: [u64; 2]) -> Option<usize> {
        if self.index.is_empty() {
            return None;
        }
        let mut slot = self.home(fingerprint);
        loop {
            let position = (self.index[slot] as usize).checked_sub(1)?;
            if self.entries[position].fingerprint == fingerprint {
                return Some(slot);
            }
            slot = (slot + 1) & (self.index.len() - 1);
        }
    }

    fn index_position(&mut self, position: usize) {
        let mut slot = self.home(self.entries[position].fingerprint);
        while self.index[slot] != 0 {
            slot = (slot + 1) & (self.index.len() - 1);
        }
        self.index[slot] = small(position + 1);
    }

    fn grow_index(&mut self) {
        let slots = (self.index.len() * 2).max(INDEX_SLOTS_MIN);
        self.index.clear();
        self.index.resize(slots, 0);
        for position in 0..self.entries.len() {
            self.index_position(position);
        }
    }

    /// Takes an id out of the index, closing the gap in its probe run (Knuth, TAOCP 3, 6.4,
    /// algorithm R).
    fn unindex(&mut self, fingerprint: [u64; 2]) {
        let Some(mut gap) = self.slot_of(fingerprint) else { return };
        let mask = self.index.len() - 1;
        let mut slot = gap;
        loop {
            slot = (slot + 1) & mask;
            let Some(position) = (self.index[slot] as usize).checked_sub(1) else { break };
            let home = self.home(self.entries[position].fingerprint);
            // Stays where it is when its home lies after the gap, cyclically.
            let from_home = slot.wrapping_sub(home) & mask;
            let from_gap = slot.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.index[gap] = self.index[slot];
                gap = slot;
            }
        }
        self.index[gap] = 0;
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).expect("a shard is far below 2^32 entries")
}
