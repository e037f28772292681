//! What apps tell of messages, each thing once: they tell again what may not have arrived.

use kernel::Timestamp;
use sha2::{Digest as _, Sha256};

/// Displays of one message to one person that are remembered by their ids, the latest.
const TOLD_MAX: usize = 64;

/// What a person did with a message in an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It was shown to them.
    Impression,
    /// They pressed a button of it.
    Click,
    Dismiss,
}

impl Kind {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("impression", Self::Impression), ("click", Self::Click), ("dismiss", Self::Dismiss)];
}

/// The displays of one message to one person, as they are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImpressionLog {
    pub displays: i32,
    /// When the latest was.
    pub last_at: Option<Timestamp>,
    /// Hashes of the ids of those told last, the newest at the end.
    pub told: Vec<i64>,
}

impl ImpressionLog {
    /// Counts a display, unless it is one that was told before; says which.
    pub fn count(&mut self, hash: i64, at: Timestamp) -> bool {
        if self.told.contains(&hash) {
            return false;
        }
        if self.told.len() >= TOLD_MAX {
            self.told.remove(0);
        }
        self.told.push(hash);
        self.displays = self.displays.saturating_add(1);
        self.last_at = Some(self.last_at.map_or(at, |last| last.max(at)));
        true
    }
}

/// The hash of an id: the first eight bytes of SHA-256, big-endian.
///
/// Apps choose ids. Making two that collide takes 2³² tries, and then a display of a message to its own person is
/// not counted. To meet a given id takes 2⁶⁴.
pub fn hash_of(event_id: &str) -> i64 {
    Sha256::digest(event_id).iter().take(8).fold(0, |number, byte| number << 8 | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_told_again_is_not_counted_again() {
        let mut told = ImpressionLog::default();
        assert!(told.count(hash_of("a"), Timestamp::from_millis(5)));
        assert!(!told.count(hash_of("a"), Timestamp::from_millis(9)));
        assert!(told.count(hash_of("b"), Timestamp::from_millis(3)));
        assert_eq!((told.displays, told.last_at), (2, Some(Timestamp::from_millis(5))));
    }

    #[test]
    fn so_many_are_remembered_and_the_oldest_forgotten() {
        let mut told = ImpressionLog::default();
        for number in 0..=TOLD_MAX {
            assert!(told.count(i64::try_from(number).unwrap(), Timestamp::from_millis(0)));
        }
        assert_eq!(told.told.len(), TOLD_MAX);
        assert!(!told.count(1, Timestamp::from_millis(0)), "the second is still known");
        assert!(told.count(0, Timestamp::from_millis(0)), "the first is not");
    }
}
