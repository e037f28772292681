//! One part of the window: a ring of entries in order of arrival, and an index into it.

/// Slots of the index when it is first needed.
const INDEX_SLOTS_MIN: usize = 16;

/// An id and when it was first seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    fingerprint: [u64; 2],
    /// Twice the time in milliseconds, plus one when durable: 24 bytes an entry, not 32.
    state: i64,
}

impl Entry {
    fn new(fingerprint: [u64; 2], first_ms: i64, is_durable: bool) -> Self {
        Self { fingerprint, state: first_ms << 1 | i64::from(is_durable) }
    }

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

/// A first-in, first-out set with open addressing (linear probing, no tombstones).
#[derive(Debug)]
pub(super) struct Shard {
    /// Entries; once `capacity` are there, the oldest is overwritten.
    ring: Vec<Entry>,
    /// Where the oldest is, once the ring is full.
    oldest: usize,
    capacity: usize,
    /// Position in the ring plus one, or zero; at most half full.
    index: Vec<u32>,
}

impl Shard {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { ring: Vec::new(), oldest: 0, capacity, index: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    pub(super) fn find(&mut self, fingerprint: [u64; 2]) -> Option<&mut Entry> {
        let slot = self.slot_of(fingerprint)?;
        let position = self.index[slot] as usize - 1;
        self.ring.get_mut(position)
    }

    /// Adds an id that is not there.
    pub(super) fn insert(&mut self, fingerprint: [u64; 2], first_ms: i64, is_durable: bool) {
        debug_assert!(self.slot_of(fingerprint).is_none());
        let entry = Entry::new(fingerprint, first_ms, is_durable);
        if self.ring.len() < self.capacity {
            self.ring.push(entry);
            if self.ring.len() * 2 > self.index.len() {
                self.grow_index();
            } else {
                self.index_position(self.ring.len() - 1);
            }
            return;
        }
        let position = self.oldest;
        self.unindex(self.ring[position].fingerprint);
        self.ring[position] = entry;
        self.index_position(position);
        self.oldest = (position + 1) % self.capacity;
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
            if self.ring[position].fingerprint == fingerprint {
                return Some(slot);
            }
            slot = (slot + 1) & (self.index.len() - 1);
        }
    }

    fn index_position(&mut self, position: usize) {
        let mut slot = self.home(self.ring[position].fingerprint);
        while self.index[slot] != 0 {
            slot = (slot + 1) & (self.index.len() - 1);
        }
        self.index[slot] = u32::try_from(position + 1).expect("a shard is far below 2^32 entries");
    }

    fn grow_index(&mut self) {
        let slots = (self.index.len() * 2).max(INDEX_SLOTS_MIN);
        self.index.clear();
        self.index.resize(slots, 0);
        for position in 0..self.ring.len() {
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
            let home = self.home(self.ring[position].fingerprint);
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
