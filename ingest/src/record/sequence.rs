//! Arrival numbers.

use std::sync::atomic::{AtomicU64, Ordering};

/// Arrival numbers within one microsecond.
const PER_MICROSECOND_BITS: u32 = 12;

/// Hands out arrival numbers: microseconds since the epoch, shifted left by 12 bits, unique and
/// increasing per node whatever the clock does. The smallest is the first arrival.
#[derive(Debug, Default)]
pub struct Sequence {
    next: AtomicU64,
}

impl Sequence {
    /// Goes on after `last`, the largest number the spool holds.
    pub fn after(last: u64) -> Self {
        Self { next: AtomicU64::new(last.saturating_add(1)) }
    }

    /// Takes `count` numbers in a row for events received at `now_ms`; gives the first.
    pub fn reserve(&self, count: u32, now_ms: i64) -> u64 {
        let micros = u64::try_from(now_ms).unwrap_or(0).saturating_mul(1000);
        let now = micros << PER_MICROSECOND_BITS;
        let take = |next: u64| Some(next.max(now).saturating_add(u64::from(count)));
        // Only uniqueness is needed, and a read-modify-write gives it in any memory order.
        let before = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .unwrap_or_else(|next| next);
        before.max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_clock_and_never_go_back() {
        let sequence = Sequence::default();
        assert_eq!(sequence.reserve(3, 1), 1000 << 12);
        assert_eq!(sequence.reserve(1, 1), (1000 << 12) + 3);
        assert_eq!(sequence.reserve(1, 0), (1000 << 12) + 4);
        assert_eq!(sequence.reserve(1, 2), 2000 << 12);
        assert_eq!(Sequence::after(7 << 50).reserve(1, 2), (7 << 50) + 1);
    }
}
