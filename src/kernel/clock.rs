//! The clock: the only place of the server that reads the time of day.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use super::Timestamp;

/// Gives the present moment. Cloned freely; all clones show the same time.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// Milliseconds since 1970 shared with a [`ClockHand`]; the system's clock when absent.
    fixed_ms: Option<Arc<AtomicI64>>,
    /// Milliseconds by which this clock is ahead of the system's; negative when behind.
    ahead_ms: i64,
}

impl Clock {
    /// Reads the operating system's clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// The system's clock, wrong by a constant: for tests of nodes whose clocks differ.
    pub fn system_ahead_by_ms(ahead_ms: i64) -> Self {
        Self { fixed_ms: None, ahead_ms }
    }

    /// A clock that stands at `at` until its hand is moved.
    pub fn fixed(at: Timestamp) -> (Self, ClockHand) {
        let shared = Arc::new(AtomicI64::new(at.millis()));
        let hand = ClockHand(Arc::clone(&shared));
        (Self { fixed_ms: Some(shared), ahead_ms: 0 }, hand)
    }

    /// The present moment, in milliseconds.
    #[expect(clippy::disallowed_methods, reason = "this is the place that may read the time")]
    pub fn now(&self) -> Timestamp {
        if let Some(shared) = &self.fixed_ms {
            return Timestamp::from_millis(shared.load(Ordering::Acquire));
        }
        let now = Timestamp::from(chrono::Utc::now());
        Timestamp::from_millis(now.millis() + self.ahead_ms)
    }
}

/// Moves a fixed [`Clock`].
#[derive(Debug, Clone)]
pub struct ClockHand(Arc<AtomicI64>);

impl ClockHand {
    /// Sets the clock to `at`.
    pub fn set(&self, at: Timestamp) {
        self.0.store(at.millis(), Ordering::Release);
    }

    /// Moves the clock by `ms` milliseconds, back when negative.
    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_moves_only_by_its_hand() {
        let (clock, hand) = Clock::fixed(Timestamp::from_millis(1_000));
        let copy = clock.clone();
        assert_eq!(clock.now(), Timestamp::from_millis(1_000));
        hand.advance_ms(500);
        assert_eq!(copy.now(), Timestamp::from_millis(1_500));
        hand.set(Timestamp::from_millis(7));
        assert_eq!(clock.now(), Timestamp::from_millis(7));
    }

    #[test]
    fn the_system_clock_is_past_2023() {
        assert!(Clock::system().now() > Timestamp::from_millis(1_700_000_000_000));
    }
}
