//! A cuckoo filter that grows: Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom",
//! CoNEXT 2014, <https://doi.org/10.1145/2674005.2674994>.
//!
//! A bucket has four slots of a tag each, some bits of the hash. A key is in one of two buckets; each follows from the
//! other and the tag, so that a tag can be moved between them to make room.

/// Bytes of a tag where memory allows: one in two million other keys is taken for a member.
pub(crate) const TAG_BYTES: usize = 3;
/// Bytes of a tag where it does not: one in eight thousand.
pub(crate) const TAG_BYTES_MIN: usize = 2;
/// Keys the first layer of a filter is made for.
pub(crate) const KEYS_MIN: usize = 1 << 17;
/// Layers beyond which a filter should be built anew as one.
const LAYERS_MAX: usize = 3;

/// Slots of a bucket.
const SLOTS: usize = 4;
/// Slots for each hundred keys: beyond a load of 95 % there is often no room to be made.
const SLOTS_PER_HUNDRED_KEYS: usize = 107;
/// Tags moved to make room for one.
const MOVES_MAX: usize = 500;
/// Spreads hashes and tags: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// One layer: of a fixed size, with tags of so many bytes.
#[derive(Debug)]
struct Layer<const TAG: usize> {
    buckets: Vec<[[u8; TAG]; SLOTS]>,
    /// Keys that may still be added.
    room: usize,
    /// Tags that found no room, with one of their buckets.
    homeless: Vec<TagPosition<TAG>>,
}

/// A key as a layer knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TagPosition<const TAG: usize> {
    bucket: usize,
    /// Never [`Layer::EMPTY`], which marks a free slot.
    tag: [u8; TAG],
}

impl<const TAG: usize> Layer<TAG> {
    const EMPTY: [u8; TAG] = [0; TAG];

    fn new(keys: usize) -> Self {
        let buckets = vec![[Self::EMPTY; SLOTS]; buckets_for(keys)];
        Self { buckets, room: keys, homeless: Vec::new() }
    }

    fn bytes(&self) -> usize {
        size_of_val(self.buckets.as_slice())
    }

    /// The tag of a hash and the first of its buckets.
    #[expect(clippy::cast_possible_truncation, reason = "some bits of the hash")]
    fn place(&self, hash: u64) -> TagPosition<TAG> {
        let hash = hash.wrapping_mul(SPREAD);
        let mut tag = Self::EMPTY;
        tag.copy_from_slice(&hash.to_be_bytes()[..TAG]);
        if tag == Self::EMPTY {
            tag[0] = 1;
        }
        TagPosition { bucket: self.scale((hash >> 8) as u32), tag }
    }

    /// The other bucket in which a tag may be.
    fn other(&self, place: TagPosition<TAG>) -> TagPosition<TAG> {
        let mut bytes = [0; 8];
        bytes[..TAG].copy_from_slice(&place.tag);
        let sum = self.scale((u64::from_le_bytes(bytes).wrapping_mul(SPREAD) >> 32) as u32);
        let bucket = if sum >= place.bucket {
            sum - place.bucket
        } else {
            sum + self.buckets.len() - place.bucket
        };
        TagPosition { bucket, ..place }
    }

    /// A bucket for 32 bits.
    fn scale(&self, bits: u32) -> usize {
        ((u64::from(bits) * self.buckets.len() as u64) >> 32) as usize
    }

    fn holds(&self, place: TagPosition<TAG>) -> bool {
        self.buckets[place.bucket].contains(&place.tag)
    }

    fn contains(&self, hash: u64) -> bool {
        let place = self.place(hash);
        let other = self.other(place);
        self.holds(place)
            || self.holds(other)
            || self.homeless.iter().any(|it| *it == place || *it == other)
    }

    fn insert(&mut self, hash: u64) {
        self.room = self.room.saturating_sub(1);
        let mut place = self.place(hash);
        for number in 0..MOVES_MAX {
            for it in [place, self.other(place)] {
                let bucket = &mut self.buckets[it.bucket];
                if let Some(slot) = bucket.iter_mut().find(|slot| **slot == Self::EMPTY) {
                    *slot = it.tag;
                    return;
                }
            }
            // Another moves out, to its other bucket; not always of the same slot, or two would change places for ever.
            let slot = &mut self.buckets[place.bucket][number % SLOTS];
            let moved =
                TagPosition { bucket: place.bucket, tag: std::mem::replace(slot, place.tag) };
            place = self.other(moved);
        }
        self.homeless.push(place);
    }
}

fn buckets_for(keys: usize) -> usize {
    (keys * SLOTS_PER_HUNDRED_KEYS).div_ceil(100 * SLOTS).max(1)
}

/// A set that never denies a member, and rarely takes another for a member.
#[derive(Debug)]
pub(crate) struct Filter {
    /// What a filter was made with where memory did not allow more.
    short: Option<Layer<TAG_BYTES_MIN>>,
    layers: Vec<Layer<TAG_BYTES>>,
    keys: usize,
}

impl Filter {
    /// A filter for about that many keys.
    pub(crate) fn for_keys(keys: usize, tag_bytes: usize) -> Self {
        let keys = keys.max(KEYS_MIN);
        if tag_bytes < TAG_BYTES {
            Self { short: Some(Layer::new(keys)), layers: Vec::new(), keys: 0 }
        } else {
            Self { short: None, layers: vec![Layer::new(keys)], keys: 0 }
        }
    }

    /// Bytes that [`Self::for_keys`] takes.
    pub(crate) fn bytes_for(keys: usize, tag_bytes: usize) -> usize {
        buckets_for(keys.max(KEYS_MIN)) * SLOTS * tag_bytes
    }

    pub(crate) fn bytes(&self) -> usize {
        let short = self.short.as_ref().map_or(0, Layer::bytes);
        short + self.layers.iter().map(Layer::bytes).sum::<usize>()
    }

    /// Bytes more that the next key takes: those of a further layer, or none.
    pub(crate) fn growth_bytes(&self) -> usize {
        if self.room() > 0 { 0 } else { Self::bytes_for(self.keys, TAG_BYTES) }
    }

    /// Whether it has so many layers that one of them all would be quicker.
    pub(crate) fn is_fragmented(&self) -> bool {
        self.layers.len() > LAYERS_MAX
    }

    /// Whether the key may have been inserted.
    pub(crate) fn contains(&self, hash: u64) -> bool {
        self.layers.iter().rev().any(|layer| layer.contains(hash))
            || self.short.as_ref().is_some_and(|layer| layer.contains(hash))
    }

    /// Inserts a key that is taken for no member; a full filter gets a layer that doubles it. False if it was taken for
    /// one.
    pub(crate) fn insert(&mut self, hash: u64) -> bool {
        let is_new = !self.contains(hash);
        if is_new {
            self.insert_new(hash);
        }
        is_new
    }

    /// Inserts those keys that are taken for no members, of equal ones the first. Answers for each whether it was
    /// inserted.
    pub(crate) fn insert_all(&mut self, hashes: &[u64]) -> Vec<bool> {
        // Looked for one after the other without a change, so that the waits for memory overlap.
        let mut are_new: Vec<bool> = hashes.iter().map(|hash| !self.contains(*hash)).collect();
        // Where they go to. The layers before cannot hold a key by now that they did not hold then.
        let growing = self.layers.len().saturating_sub(1);
        for (hash, is_new) in hashes.iter().zip(&mut are_new) {
            let came_twice = || {
                self.layers[growing..].iter().any(|layer| layer.contains(*hash))
                    || self.short.as_ref().is_some_and(|layer| layer.contains(*hash))
            };
            *is_new = *is_new && !came_twice();
            if *is_new {
                self.insert_new(*hash);
            }
        }
        are_new
    }

    fn insert_new(&mut self, hash: u64) {
        self.keys += 1;
        if let Some(short) = self.short.as_mut().filter(|layer| layer.room > 0) {
            short.insert(hash);
            return;
        }
        if self.layers.last().is_none_or(|layer| layer.room == 0) {
            self.layers.push(Layer::new((self.keys - 1).max(KEYS_MIN)));
        }
        if let Some(layer) = self.layers.last_mut() {
            layer.insert(hash);
        }
    }

    /// Keys that it takes without growing.
    pub(crate) fn room(&self) -> usize {
        self.short.as_ref().map_or(0, |layer| layer.room)
            + self.layers.last().map_or(0, |layer| layer.room)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers without a pattern: splitmix64.
    fn hashes(seed: u64, count: usize) -> impl Iterator<Item = u64> {
        (0..count as u64).map(move |number| {
            let mut x = (seed << 40 | number).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            x ^ x >> 31
        })
    }

    #[test]
    fn members_are_found_and_few_others_are_taken_for_one() {
        for tag_bytes in [TAG_BYTES_MIN, TAG_BYTES] {
            for (keys, made_for) in [(1_000_000, 1_000_000), (1_000_000, 0), (10_000, 0)] {
                let mut filter = Filter::for_keys(made_for, tag_bytes);
                hashes(1, keys).for_each(|hash| {
                    filter.insert(hash);
                });
                assert!(hashes(1, keys).all(|hash| filter.contains(hash)));
                let others = 1_000_000;
                let wrong = hashes(2, others).filter(|hash| filter.contains(*hash)).count();
                // Eight slots are looked at; twice as many as expected, and some, are allowed.
                let layers = filter.layers.len() + usize::from(filter.short.is_some());
                let expected = (layers * SLOTS * 2 * others) >> (8 * tag_bytes);
                assert!(wrong <= 2 * expected + 10, "{wrong}, {expected} expected");
                let short = filter.short.as_ref().map_or(0, |it| it.homeless.len());
                let homeless =
                    short + filter.layers.iter().map(|it| it.homeless.len()).sum::<usize>();
                assert!(homeless <= 2, "{homeless} of {keys}");
                assert!(filter.bytes() <= 4 * keys.max(KEYS_MIN) * TAG_BYTES);
            }
        }
    }

    #[test]
    fn keys_without_room_are_members_too() {
        let mut layer = Layer::<TAG_BYTES>::new(100);
        hashes(5, 200).for_each(|hash| layer.insert(hash));
        assert!(!layer.homeless.is_empty());
        assert!(hashes(5, 200).all(|hash| layer.contains(hash)));
    }

    #[test]
    fn keys_inserted_together_that_need_a_new_layer_are_members() {
        let keys: Vec<u64> = hashes(6, 3 * KEYS_MIN).collect();
        let twice: Vec<u64> = keys.iter().flat_map(|key| [*key, *key]).collect();
        let mut filter = Filter::for_keys(0, TAG_BYTES);
        let inserted = filter.insert_all(&twice).into_iter().filter(|it| *it).count();
        assert!(filter.layers.len() > 1);
        assert!((keys.len() - 10..=keys.len()).contains(&inserted), "{inserted}");
        assert!(keys.iter().all(|key| filter.contains(*key)));
    }

    #[test]
    fn growth_is_known_before_it_happens() {
        let mut filter = Filter::for_keys(0, TAG_BYTES);
        for hash in hashes(3, 4 * KEYS_MIN) {
            if !filter.contains(hash) {
                let expected = filter.bytes() + filter.growth_bytes();
                filter.insert(hash);
                assert_eq!(filter.bytes(), expected);
            }
        }
        assert!(!filter.is_fragmented());
        hashes(4, 100 + 4 * KEYS_MIN).for_each(|hash| {
            filter.insert(hash);
        });
        assert!(filter.is_fragmented());
    }

    proptest! {
        #[test]
        fn keys_inserted_together_are_new_or_known_as_one_by_one(
            batches: Vec<Vec<u8>>, made_for in 0_usize..1000, tag_bytes in TAG_BYTES_MIN..=TAG_BYTES
        ) {
            let (mut one, mut other) =
                (Filter::for_keys(made_for, tag_bytes), Filter::for_keys(made_for, tag_bytes));
            for batch in batches {
                let batch: Vec<u64> = batch.into_iter().map(|it| u64::from(it) << 40 | u64::from(it)).collect();
                let expected: Vec<bool> = batch.iter().map(|hash| one.insert(*hash)).collect();
                prop_assert_eq!(other.insert_all(&batch), expected);
            }
        }

        #[test]
        fn no_member_is_denied(members: Vec<u64>, made_for in 0_usize..1000, tag_bytes in TAG_BYTES_MIN..=TAG_BYTES) {
            let mut filter = Filter::for_keys(made_for, tag_bytes);
            for member in &members {
                filter.insert(*member);
            }
            prop_assert!(members.iter().all(|member| filter.contains(*member)));
        }
    }
}
