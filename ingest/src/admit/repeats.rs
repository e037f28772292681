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

/// The caller's event ids of one request. Exact: equal hashes are compared by text.
#[derive(Debug, Default)]
pub(super) struct RequestIds {
    key: RandomState,
    places: HashMap<u64, Range<usize>, BuildHasherDefault<Keyed>>,
    texts: String,
}

impl RequestIds {
    /// Forgets the request before.
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.texts.clear();
    }

    /// Adds an id; false when this request held it before.
    pub(super) fn insert(&mut self, id: &str) -> bool {
        match self.places.entry(self.key.hash_one(id)) {
            Entry::Occupied(known) => self.texts.get(known.get().clone()) != Some(id),
            Entry::Vacant(place) => {
                let start = self.texts.len();
                self.texts.push_str(id);
                place.insert(start..self.texts.len());
                true
            }
        }
    }
}
