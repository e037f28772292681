//! Pauses between attempts: doubling up to a maximum, with jitter so that what failed together is not retried together.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

/// The pause after so many failed attempts (at least one): `first`, doubled with each attempt, at most `max`.
pub fn doubled(first: Duration, max: Duration, attempts: u32) -> Duration {
    first.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(max)
}

/// The pauses of one series of attempts.
#[derive(Debug)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    attempts: u32,
    random: RandomState,
}

impl Backoff {
    /// Pauses from `first` to `max`, both before jitter.
    pub fn new(first: Duration, max: Duration) -> Self {
        Self { first, max, attempts: 0, random: RandomState::new() }
    }

    /// Attempts that failed so far.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Begins with the first pause again, after a success.
    pub const fn reset(&mut self) {
        self.attempts = 0;
    }

    /// Counts a failed attempt. Returns the pause before the next one: half of [`doubled`] to the whole.
    pub fn pause(&mut self) -> Duration {
        self.attempts = self.attempts.saturating_add(1);
        let per_mille = u32::try_from(self.random.hash_one(self.attempts) % 501).unwrap_or(0) + 500;
        doubled(self.first, self.max, self.attempts) * per_mille / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_maximum_and_stay_within_the_jitter() {
        let (first, max) = (Duration::from_millis(100), Duration::from_secs(5));
        let mut backoff = Backoff::new(first, max);
        for attempt in 1..50 {
            let whole = doubled(first, max, attempt);
            let pause = backoff.pause();
            assert!(pause >= whole / 2 && pause <= whole, "{attempt}: {pause:?}");
        }
        assert_eq!(backoff.attempts(), 49);
        backoff.reset();
        assert!(backoff.pause() <= first);
        let whole = [1, 2, 3, 6, 7, u32::MAX].map(|attempts| doubled(first, max, attempts));
        assert_eq!(whole.map(|pause| pause.as_millis()), [100, 200, 400, 3_200, 5_000, 5_000]);
    }
}
