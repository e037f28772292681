//! How many opens and clicks of one message are stored: so many of each kind in a minute.
//!
//! Whoever holds a signed link can fetch it without end; what is stored must not grow with that. Counts are
//! kept in a fixed number of slots that messages share by hash, so memory is bounded whatever is fetched; two
//! busy messages in one slot (one of half a million) count together for that minute.

use std::{
    hash::{BuildHasher as _, Hash, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use kernel::Timestamp;

/// Slots: a power of two, 4 MiB of counts.
const SLOTS: usize = 1 << 19;
/// Bits of a slot that hold the count; the minute is above them.
const COUNT_BITS: u32 = 32;
const MS_PER_MINUTE: i64 = 60_000;

/// Counts of this minute, by message and kind.
#[derive(Debug)]
pub struct StoredRate {
    per_minute: u64,
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl StoredRate {
    /// Nothing counted yet. Lets `per_minute` of each key through in each minute of the clock.
    pub fn new(per_minute: u32) -> Self {
        Self {
            per_minute: per_minute.into(),
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Counts one of this key; says whether it is to be stored.
    pub fn admits(&self, key: impl Hash, now: Timestamp) -> bool {
        let hash = self.hasher.hash_one(key);
        #[expect(clippy::cast_possible_truncation, reason = "only the low bits are wanted")]
        let slot = &self.slots[hash as usize % SLOTS];
        // Kept to 32 bits, minutes repeat after 8,000 years.
        let minute = now.millis().div_euclid(MS_PER_MINUTE).cast_unsigned() & u64::from(u32::MAX);
        let counted = |held: u64| {
            let count = if held >> COUNT_BITS == minute { held & u64::from(u32::MAX) } else { 0 };
            (count < self.per_minute).then_some(minute << COUNT_BITS | (count + 1))
        };
        slot.fetch_update(Ordering::AcqRel, Ordering::Acquire, counted).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_a_minute_of_each_key_and_no_more() {
        let rate = StoredRate::new(20);
        let at = |ms| Timestamp::from_millis(1_772_366_400_000 + ms);
        let stored = |key: &str, ms| (0..30).filter(|_| rate.admits(key, at(ms))).count();
        assert_eq!(stored("a", 0), 20);
        assert_eq!(stored("a", MS_PER_MINUTE - 1), 0);
        assert_eq!(stored("b", 0), 20, "each has its own count");
        assert_eq!(stored("a", MS_PER_MINUTE), 20, "the next minute");
        assert_eq!(stored("a", 10 * MS_PER_MINUTE), 20);
    }

    #[test]
    fn many_threads_store_no_more_than_one() {
        let rate = StoredRate::new(20);
        let now = Timestamp::from_millis(1_772_366_400_000);
        let stored = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let count = (0..1_000).filter(|_| rate.admits("a", now)).count();
                    stored.fetch_add(count, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(stored.into_inner(), 20);
    }
}
