//! A split block Bloom filter that grows.
//!
//! The layout and the salts are those of Apache Parquet (`BloomFilter.md` of parquet-format): blocks of 256 bits, one
//! bit in each of a block's eight words, so that a look-up touches one cache line.

/// Bits a key when a layer is full: 1.3 of a thousand others are taken for members.
pub(crate) const BITS_PER_KEY: usize = 16;
/// Bits a key below which a filter is of no use.
pub(crate) const BITS_PER_KEY_MIN: usize = 8;
/// Keys the first layer of a filter is made for.
const KEYS_MIN: usize = 1 << 17;
/// Layers beyond which a filter should be built anew as one.
const LAYERS_MAX: usize = 3;

const WORDS: usize = 8;
const BLOCK_BITS: usize = WORDS * u32::BITS as usize;
const BLOCK_BYTES: usize = BLOCK_BITS / 8;
const SALTS: [u32; WORDS] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// One layer: of a fixed size.
#[derive(Debug)]
struct Layer {
    blocks: Vec<[u32; WORDS]>,
    /// Keys that may still be added.
    room: usize,
}

impl Layer {
    fn new(keys: usize, bits_per_key: usize) -> Self {
        let blocks = (keys * bits_per_key).div_ceil(BLOCK_BITS).max(1);
        Self { blocks: vec![[0; WORDS]; blocks], room: keys }
    }

    fn bytes(&self) -> usize {
        self.blocks.len() * BLOCK_BYTES
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of the hash")]
    fn place(&self, hash: u64) -> (usize, [u32; WORDS]) {
        let block = ((hash >> 32) * self.blocks.len() as u64) >> 32;
        let low = hash as u32;
        (block as usize, SALTS.map(|salt| 1 << (low.wrapping_mul(salt) >> 27)))
    }

    fn contains(&self, hash: u64) -> bool {
        let (block, mask) = self.place(hash);
        let block = &self.blocks[block];
        block.iter().zip(mask).all(|(word, bit)| word & bit != 0)
    }

    fn insert(&mut self, hash: u64) {
        let (block, mask) = self.place(hash);
        let block = &mut self.blocks[block];
        block.iter_mut().zip(mask).for_each(|(word, bit)| *word |= bit);
        self.room = self.room.saturating_sub(1);
    }
}

/// A set that never denies a member, and takes one in a thousand others for a member of each layer.
#[derive(Debug)]
pub(crate) struct Filter {
    layers: Vec<Layer>,
    keys: usize,
}

impl Filter {
    /// A filter for about that many keys.
    pub(crate) fn for_keys(keys: usize, bits_per_key: usize) -> Self {
        Self { layers: vec![Layer::new(keys.max(KEYS_MIN), bits_per_key)], keys: 0 }
    }

    /// Bytes that [`Self::for_keys`] takes.
    pub(crate) fn bytes_for(keys: usize, bits_per_key: usize) -> usize {
        (keys.max(KEYS_MIN) * bits_per_key).div_ceil(BLOCK_BITS) * BLOCK_BYTES
    }

    pub(crate) fn bytes(&self) -> usize {
        self.layers.iter().map(Layer::bytes).sum()
    }

    /// Bytes more that the next key takes: those of a further layer, or none.
    pub(crate) fn growth_bytes(&self) -> usize {
        if self.has_room() { 0 } else { Self::bytes_for(self.keys, BITS_PER_KEY) }
    }

    /// Whether it has so many layers that one of them all would be quicker.
    pub(crate) fn is_fragmented(&self) -> bool {
        self.layers.len() > LAYERS_MAX
    }

    /// Whether the key may have been inserted.
    pub(crate) fn contains(&self, hash: u64) -> bool {
        self.layers.iter().rev().any(|layer| layer.contains(hash))
    }

    /// Inserts a key; a full filter gets a layer that doubles it.
    pub(crate) fn insert(&mut self, hash: u64) {
        if !self.has_room() {
            self.layers.push(Layer::new(self.keys.max(KEYS_MIN), BITS_PER_KEY));
        }
        self.keys += 1;
        if let Some(layer) = self.layers.last_mut() {
            layer.insert(hash);
        }
    }

    fn has_room(&self) -> bool {
        self.layers.last().is_some_and(|layer| layer.room > 0)
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
    fn members_are_found_and_one_in_a_thousand_others_is_taken_for_one() {
        for (keys, made_for) in [(1_000_000, 1_000_000), (1_000_000, 0), (10_000, 0)] {
            let mut filter = Filter::for_keys(made_for, BITS_PER_KEY);
            hashes(1, keys).for_each(|hash| filter.insert(hash));
            assert!(hashes(1, keys).all(|hash| filter.contains(hash)));
            let others = 1_000_000;
            let wrong = hashes(2, others).filter(|hash| filter.contains(*hash)).count();
            let layers = filter.layers.len();
            assert!(wrong <= layers * others / 700, "{wrong} of {others}, {layers} layers");
            assert!(filter.bytes() <= 4 * keys.max(KEYS_MIN) * BITS_PER_KEY / 8);
        }
    }

    #[test]
    fn growth_is_known_before_it_happens() {
        let mut filter = Filter::for_keys(0, BITS_PER_KEY);
        for hash in hashes(3, 4 * KEYS_MIN) {
            let expected = filter.bytes() + filter.growth_bytes();
            filter.insert(hash);
            assert_eq!(filter.bytes(), expected);
        }
        assert!(!filter.is_fragmented());
        hashes(4, 1 + 4 * KEYS_MIN).for_each(|hash| filter.insert(hash));
        assert!(filter.is_fragmented());
    }

    proptest! {
        #[test]
        fn no_member_is_denied(members: Vec<u64>, made_for in 0_usize..1000, bits in BITS_PER_KEY_MIN..=BITS_PER_KEY) {
            let mut filter = Filter::for_keys(made_for, bits);
            for member in &members {
                filter.insert(*member);
            }
            prop_assert!(members.iter().all(|member| filter.contains(*member)));
        }
    }
}
