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
pub(super) fn note() {
    let ms = u64::try_from(BEGAN.elapsed().as_millis()).unwrap_or(u64::MAX);
    LAST_MS.store(ms.max(1), Ordering::Relaxed);
}

/// Whether something of this age was there at the last outage.
pub(super) fn is_older_than_last(age: Duration) -> bool {
    match LAST_MS.load(Ordering::Relaxed) {
        0 => false,
        ms => age >= BEGAN.elapsed().saturating_sub(Duration::from_millis(ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_at_an_outage_is_older_than_it() {
        let before = Instant::now();
        LazyLock::force(&BEGAN);
        std::thread::sleep(Duration::from_millis(5));
        note();
        std::thread::sleep(Duration::from_millis(5));
        let after = Instant::now();
        assert!(is_older_than_last(before.elapsed()));
        assert!(!is_older_than_last(after.elapsed().min(Duration::from_millis(1))));
    }
}
