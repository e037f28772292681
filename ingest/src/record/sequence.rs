//! Arrival numbers.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Arrival numbers within one microsecond.
const PER_MICROSECOND_BITS: u32 = 12;

/// Hands out arrival numbers: microseconds since the epoch, shifted left by 12 bits, unique and
/// increasing per node whatever the clock does. The smallest is the first arrival.
///
/// Nodes that share a ClickHouse count by its clock ([`Self::set_ahead_ms`]), and go on after the
/// largest number that is stored ([`Self::raise`]), so that what came first has the smaller number
/// however their own clocks differ.
#[derive(Debug, Default)]
pub struct Sequence {
    next: AtomicU64,
    /// Milliseconds by which the clock that counts is ahead of this node's.
    ahead_ms: AtomicI64,
}

impl Sequence {
    /// Goes on after `last`, the largest number the spool holds.
    pub fn after(last: u64) -> Self {
        let sequence = Self::default();
        sequence.raise(last);
        sequence
    }

    /// Goes on after `last` if that is not behind already.
    pub fn raise(&self, last: u64) {
        self.next.fetch_max(last.saturating_add(1), Ordering::Relaxed);
    }

    /// Says by how many milliseconds the clock that counts is ahead of this node's; negative when it
    /// is behind. Numbers never go back.
    pub fn set_ahead_ms(&self, ahead_ms: i64) {
        self.ahead_ms.store(ahead_ms, Ordering::Relaxed);
    }

    /// Takes `count` numbers in a row for events received at `now_ms` by this node's clock; gives the
    /// first.
    pub fn reserve(&self, count: u32, now_ms: i64) -> u64 {
        let counted_ms = now_ms.saturating_add(self.ahead_ms.load(Ordering::Relaxed));
        let micros = u64::try_from(counted_ms).unwrap_or(0).saturating_mul(1000);
        let now = micros << PER_MICROSECOND_BITS;
        let take = |next: u64| Some(next.max(now).saturating_add(u64::from(count)));
        // Only uniqueness is needed, and a read-modify-write gives it in any memory order.
        let before = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .unwrap_or_else(|next| next);
        before.max(now)
    }

    /// The time a number stands for: milliseconds since the epoch.
    pub const fn time_ms(number: u64) -> i64 {
        ((number >> PER_MICROSECOND_BITS) / 1000).cast_signed()
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

    #[test]
    fn numbers_go_on_after_the_largest_that_is_stored() {
        let sequence = Sequence::default();
        sequence.raise(5000 << 12);
        assert_eq!(sequence.reserve(1, 1), (5000 << 12) + 1);
        sequence.raise(3000 << 12);
        assert_eq!(sequence.reserve(1, 1), (5000 << 12) + 2);
        assert_eq!(Sequence::time_ms((5000 << 12) + 2), 5);
    }

    #[test]
    fn nodes_whose_clocks_differ_count_by_one_clock() {
        const HOUR_MS: i64 = 3_600_000;
        let (fast, slow) = (Sequence::default(), Sequence::default());
        fast.set_ahead_ms(-HOUR_MS);
        slow.set_ahead_ms(HOUR_MS);
        let now_ms = 10 * HOUR_MS;
        let first = fast.reserve(1, now_ms + HOUR_MS);
        let second = slow.reserve(1, now_ms + 1 - HOUR_MS);
        let third = fast.reserve(1, now_ms + 2 + HOUR_MS);
        assert!(first < second && second < third);
        // A clock that is set back takes nothing back.
        slow.set_ahead_ms(-HOUR_MS);
        assert!(slow.reserve(1, now_ms + 3 - HOUR_MS) > second);
    }
}
