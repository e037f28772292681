//! Connections made before the last outage are not used again.
//!
//! After a failover a connection may still lead to the old server, which is read-only now, or to one that is shutting
//! down. It works for reads, so the pool's own test does not find it. When a statement fails that way, every
//! connection made before is closed instead of being taken from the pool again. One moment for the whole process: a
//! needless new connection costs a millisecond.

use std::{
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
/// Milliseconds from `BEGAN` to the last outage; 0 when there was none.
static LAST_MS: AtomicU64 = AtomicU64::new(0);

/// Notes an outage now.
pub fn note() {
    let ms = u64::try_from(BEGAN.elapsed().as_millis()).unwrap_or(u64::MAX);
    // Rounded up: what was made in the same millisecond counts as made before.
    LAST_MS.store(ms.saturating_add(1), Ordering::Relaxed);
}

/// Whether something of this age was there at the last outage.
pub fn is_older_than_last(age: Duration) -> bool {
    was_there(age, BEGAN.elapsed(), LAST_MS.load(Ordering::Relaxed))
}

/// Whether something of this age at `now` was there at `outage_ms`; both since `BEGAN`, 0 is no outage.
fn was_there(age: Duration, now: Duration, outage_ms: u64) -> bool {
    outage_ms > 0 && age >= now.saturating_sub(Duration::from_millis(outage_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_at_an_outage_is_older_than_it() {
        let ms = Duration::from_millis;
        for (age, now, outage_ms, expected) in [
            (10, 100, 0, false),
            (10, 100, 95, true),
            (10, 100, 90, true),
            (10, 100, 89, false),
            // Made before the process looked at the clock for the first time.
            (500, 100, 1, true),
            // Noted by another thread after `now` was read.
            (0, 100, 101, true),
        ] {
            assert_eq!(was_there(ms(age), ms(now), outage_ms), expected, "{age} {now} {outage_ms}");
        }
    }

    #[test]
    fn an_outage_that_was_noted_is_later_than_what_was_there_before() {
        let before = Instant::now();
        LazyLock::force(&BEGAN);
        note();
        assert!(is_older_than_last(before.elapsed()));
    }
}
