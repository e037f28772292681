//! Limits how many opens and clicks of one message are stored in a minute.
//!
//! The holder of a signed link can fetch it without end; stored data must not grow with that. Counts are kept
//! in a fixed number of slots that messages share by hash, so memory is bounded; two busy messages in one
//! slot (one of half a million) share the limit of that minute.

use std::{
    hash::{BuildHasher as _, Hash, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use kernel::Timestamp;

/// A power of two; 4 MiB of counts.
const SLOTS: usize = 1 << 19;
/// Bits of a slot that hold the count; the minute is above them.
const COUNT_BITS: u32 = 32;
const MS_PER_MINUTE: i64 = 60_000;

/// Counts of the current minute by message and kind.
#[derive(Debug)]
pub struct StoredRate {
    per_minute: u64,
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl StoredRate {
    /// Admits `per_minute` events of each key in each clock minute.
    pub fn new(per_minute: u32) -> Self {
        Self {
            per_minute: per_minute.into(),
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Counts an event; true if it is within the limit.
    pub fn admits(&self, key: impl Hash, now: Timestamp) -> bool {
        let hash = self.hasher.hash_one(key);
        #[expect(clippy::cast_possible_truncation, reason = "only the low bits are wanted")]
        let slot = &self.slots[hash as usize % SLOTS];
        // In 32 bits, minutes repeat after 8,000 years.
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
    fn each_key_is_limited_per_minute() {
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
    fn concurrent_threads_do_not_exceed_the_limit() {
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
