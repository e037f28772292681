//! Ids presented twice within one request.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasherDefault, Hasher},
    ops::Range,
};

use ahash::RandomState;

/// Passes an already keyed hash through.
#[derive(Debug, Default)]
struct Keyed(u64);

impl Hasher for Keyed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        debug_assert!(false, "only u64 keys are hashed here");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// What events of one request are known by that carry an id of the caller's: name, key day and id, as
/// in the key of the table. Exact: equal hashes are compared by text.
#[derive(Debug, Default)]
pub(super) struct RequestIds {
    key: RandomState,
    places: HashMap<u64, RepeatKey, BuildHasherDefault<Keyed>>,
    texts: String,
}

/// An event that was there before.
#[derive(Debug, Clone)]
struct RepeatKey {
    day: u16,
    name: Range<usize>,
    id: Range<usize>,
}

impl RequestIds {
    /// Forgets the request before.
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.texts.clear();
    }

    /// Adds an event; false when this request held it before.
    pub(super) fn insert(&mut self, name: &str, day: u16, id: &str) -> bool {
        match self.places.entry(self.key.hash_one((name, day, id))) {
            Entry::Occupied(known) => {
                let known = known.get();
                known.day != day
                    || self.texts.get(known.name.clone()) != Some(name)
                    || self.texts.get(known.id.clone()) != Some(id)
            }
            Entry::Vacant(place) => {
                let start = self.texts.len();
                self.texts.push_str(name);
                let middle = self.texts.len();
                self.texts.push_str(id);
                place.insert(RepeatKey { day, name: start..middle, id: middle..self.texts.len() });
                true
            }
        }
    }
}
