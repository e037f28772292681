//! Counts displays of in-app messages once each: apps repeat calls that may not have arrived.

use kernel::Timestamp;
use sha2::{Digest as _, Sha256};

/// Displays of one message to one person whose ids are remembered.
const RECENT_IDS_MAX: usize = 64;

/// A person's interaction with an in-app message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InAppEventKind {
    Impression,
    Click,
    Dismiss,
}

impl InAppEventKind {
    /// The API's name of each value.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("impression", Self::Impression), ("click", Self::Click), ("dismiss", Self::Dismiss)];
}

/// The displays of one message to one person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImpressionLog {
    pub displays: i32,
    /// The time of the latest display.
    pub last_at: Option<Timestamp>,
    /// Hashes of the ids of the latest displays, the newest at the end.
    pub recent_ids: Vec<i64>,
}

impl ImpressionLog {
    /// Counts a display; false for an id that was counted before.
    pub fn count(&mut self, hash: i64, at: Timestamp) -> bool {
        if self.recent_ids.contains(&hash) {
            return false;
        }
        if self.recent_ids.len() >= RECENT_IDS_MAX {
            self.recent_ids.remove(0);
        }
        self.recent_ids.push(hash);
        self.displays = self.displays.saturating_add(1);
        self.last_at = Some(self.last_at.map_or(at, |last| last.max(at)));
        true
    }
}

/// The first eight bytes of SHA-256, big-endian.
///
/// An app could construct two ids that collide with 2³² tries; it would then lose one display of its own.
/// Hitting a given id takes 2⁶⁴.
pub fn hash_of(event_id: &str) -> i64 {
    Sha256::digest(event_id).iter().take(8).fold(0, |number, byte| number << 8 | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_display_is_counted_once() {
        let mut log = ImpressionLog::default();
        assert!(log.count(hash_of("a"), Timestamp::from_millis(5)));
        assert!(!log.count(hash_of("a"), Timestamp::from_millis(9)));
        assert!(log.count(hash_of("b"), Timestamp::from_millis(3)));
        assert_eq!((log.displays, log.last_at), (2, Some(Timestamp::from_millis(5))));
    }

    #[test]
    fn the_oldest_ids_are_forgotten_first() {
        let mut log = ImpressionLog::default();
        for number in 0..=RECENT_IDS_MAX {
            assert!(log.count(i64::try_from(number).unwrap(), Timestamp::from_millis(0)));
        }
        assert_eq!(log.recent_ids.len(), RECENT_IDS_MAX);
        assert!(!log.count(1, Timestamp::from_millis(0)), "the second is still known");
        assert!(log.count(0, Timestamp::from_millis(0)), "the first is not");
    }
}
