//! The window of recent event ids: a retry without a timestamp takes the first one's time.
//!
//! The table collapses repeats by a key without the raw time, so an event that carries its
//! `timestamp` needs no memory here. One the server stamped would get another time, and in another
//! month another key, when it is sent again; so the ingest handle remembers the ids of server-stamped
//! events, and when each was first seen. Once the first is known to be durable, a repeat is not
//! even stored again.
//!
//! An id is that of an event of one name in one workspace, as in the key of the table: the same id with
//! another name is another event.
//!
//! Bounded: [`WINDOW_ENTRIES_MAX`] ids by default, 40 bytes each; none is believed after
//! [`WINDOW_RETENTION_MS`]. When it is full, every workspace keeps its share (see [`shard`]), so that
//! many ids of one do not push out those of another. Ids are kept as 128-bit fingerprints, so long ids
//! cost no more than short ones.
//!
//! A fingerprint stands for the id: of two ids that shared one, the second event would be acknowledged
//! and never stored. Callers choose ids, so fingerprints are keyed with a key drawn at start, by the hash
//! of the standard library, which is SipHash, made against chosen input. aHash is twice as quick and no
//! more than a guard of tables that compare their keys as well.

mod shard;

#[cfg(test)]
mod tests;

use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};

use parking_lot::Mutex;
use uuid::Uuid;

use crate::model::limits::{WINDOW_ENTRIES_MAX, WINDOW_RETENTION_MS};

use shard::Shard;

/// Locks the window is split into, so that request workers seldom meet.
const SHARDS: usize = 64;

/// Stands for one event id of one event name of one workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    workspace_id: Uuid,
    hash: [u64; 2],
}

/// What an event that carries a `clientEventId` is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventKey<'a> {
    /// The workspace the event belongs to.
    pub workspace_id: Uuid,
    /// `eventName` of the event.
    pub event_name: &'a str,
    /// `clientEventId` of the event.
    pub event_id: &'a str,
}

/// What the window knows about an id that was just presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It was new, and is remembered now.
    First,
    /// It came before, but it is not known to be durable yet: store this one too, at that time.
    Pending {
        /// When the first one was received: milliseconds since the epoch.
        first_ms: i64,
    },
    /// It is stored already.
    Durable {
        /// When the first one was received: milliseconds since the epoch.
        first_ms: i64,
    },
}

/// Recent ids of server-stamped events, shared by all request workers of a node.
#[derive(Debug)]
pub struct Window {
    shards: Vec<Mutex<Shard>>,
    key: RandomState,
}

impl Default for Window {
    fn default() -> Self {
        Self::with_capacity(WINDOW_ENTRIES_MAX)
    }
}

impl Window {
    /// A window of about `entries` ids (rounded up to a multiple of the number of shards). Memory
    /// is taken as ids arrive.
    pub fn with_capacity(entries: usize) -> Self {
        let each = entries.div_ceil(SHARDS).max(1);
        Self {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::with_capacity(each))).collect(),
            key: RandomState::new(),
        }
    }

    /// The fingerprint of an id.
    pub fn fingerprint(&self, key: EventKey<'_>) -> Fingerprint {
        let mut hasher = self.key.build_hasher();
        key.hash(&mut hasher);
        // Its state is of 256 bits, which are finished twice: for twice 64 bits.
        let first = hasher.finish();
        hasher.write_u8(1);
        Fingerprint { workspace_id: key.workspace_id, hash: [first, hasher.finish()] }
    }

    /// Presents an id of an event of that time, mostly now; remembers it when it is new.
    pub fn claim(&self, id: Fingerprint, now_ms: i64) -> Claim {
        let mut shard = self.shard(id).lock();
        match shard.find(id.hash) {
            Some(entry) if now_ms.saturating_sub(entry.first_ms()) <= WINDOW_RETENTION_MS => {
                let first_ms = entry.first_ms();
                if entry.is_durable() {
                    Claim::Durable { first_ms }
                } else {
                    Claim::Pending { first_ms }
                }
            }
            Some(expired) => {
                expired.restart(now_ms);
                Claim::First
            }
            None => {
                shard.insert(id.workspace_id, id.hash, now_ms, false);
                Claim::First
            }
        }
    }

    /// Says that these ids are durable now: call it after the spool's append succeeded.
    pub fn confirm(&self, ids: &[Fingerprint]) {
        for id in ids {
            if let Some(entry) = self.shard(*id).lock().find(id.hash) {
                entry.confirm();
            }
        }
    }

    /// Puts a stored event's id in, at start: from the spool or from ClickHouse, oldest first.
    /// The first time given for an id stays.
    pub fn seed(&self, key: EventKey<'_>, timestamp_ms: i64) {
        let id = self.fingerprint(key);
        let mut shard = self.shard(id).lock();
        match shard.find(id.hash) {
            Some(entry) => entry.confirm(),
            None => shard.insert(id.workspace_id, id.hash, timestamp_ms, true),
        }
    }

    /// Number of ids in memory.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Whether no id is in memory.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard(&self, id: Fingerprint) -> &Mutex<Shard> {
        let index = usize::try_from(id.hash[0] % SHARDS as u64).unwrap_or_default();
        &self.shards[index]
    }
}
