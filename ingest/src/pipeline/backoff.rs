//! Pauses between tries: doubling, capped, and jittered so that nodes do not come back in step.

use std::time::Duration;

/// The first pause, before jitter.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// The longest pause, before jitter: an engine that is back is used within this time.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The pauses of one series of tries.
#[derive(Debug)]
pub(super) struct Backoff {
    tries: u32,
    random: ahash::RandomState,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { tries: 0, random: ahash::RandomState::new() }
    }

    /// Tries that failed so far.
    pub(super) fn tries(&self) -> u32 {
        self.tries
    }

    /// The next pause: between half of and the whole capped doubling.
    pub(super) fn pause(&mut self) -> Duration {
        let whole = PAUSE_FIRST.saturating_mul(1 << self.tries.min(16)).min(PAUSE_MAX);
        self.tries = self.tries.saturating_add(1);
        let per_mille = u32::try_from(self.random.hash_one(self.tries) % 500).unwrap_or(0) + 500;
        whole * per_mille / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_cap_and_stay_within_the_jitter() {
        let mut backoff = Backoff::new();
        for tries in 0..50 {
            let whole = PAUSE_FIRST.saturating_mul(1 << tries.min(16)).min(PAUSE_MAX);
            let pause = backoff.pause();
            assert!(pause >= whole / 2 && pause <= whole, "{tries}: {pause:?}");
        }
    }
}
