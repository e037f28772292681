//! Whether the clock may be believed.
//!
//! A clock that jumps ahead makes everything old at once. So each look at it is recorded in PostgreSQL, and after a jump
//! nothing is deleted for a day in which the clock went on as usual: time for an operator who is alerted. A server that
//! was off for some days waits as well, since that looks like a jump.

use std::time::Duration;

use kernel::{Timestamp, time::DAY};

/// Longest time between two looks that is no jump, unless they are farther apart by the settings.
const JUMP_MIN: Duration = Duration::from_hours(3 * 24);
/// How long nothing is deleted after a jump.
const HOLD: Duration = DAY;

/// What is recorded of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The last look at it.
    pub(crate) at: Timestamp,
    /// Until when nothing is deleted.
    pub(crate) held_until: Option<Timestamp>,
}

impl Seen {
    /// What is to be recorded now; looks are so far apart by the settings.
    pub(crate) fn next(before: Option<Self>, now: Timestamp, every: Duration) -> Self {
        let Some(before) = before else { return Self { at: now, held_until: None } };
        let jump = JUMP_MIN.max(every * 2);
        let held_until = if now > before.at.after(jump) {
            Some(now.after(HOLD))
        } else {
            // One that was set back is right again, or at least deletes less.
            before.held_until.filter(|until| now >= before.at && now < *until)
        };
        Self { at: now, held_until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000 + hours * 3_600_000)
    }

    fn seen(hours: i64, held_until: Option<i64>) -> Seen {
        Seen { at: at(hours), held_until: held_until.map(at) }
    }

    #[test]
    fn a_clock_that_jumped_is_believed_after_a_day() {
        for (before, now, every, held_until, why) in [
            (None, 0, HOUR, None, "the first look"),
            (Some(seen(0, None)), 1, HOUR, None, "as usual"),
            (Some(seen(0, None)), 72, HOUR, None, "off for a weekend"),
            (Some(seen(0, None)), 73, HOUR, Some(97), "a jump"),
            (Some(seen(0, None)), 24 * 365, HOUR, Some(24 * 366), "a jump of a year"),
            (Some(seen(73, Some(97))), 74, HOUR, Some(97), "held"),
            (Some(seen(95, Some(97))), 97, HOUR, None, "a day later"),
            (Some(seen(73, Some(97))), 200, HOUR, Some(224), "another jump"),
            (Some(seen(24 * 365, Some(24 * 366))), 5, HOUR, None, "set right"),
            (Some(seen(0, None)), 200, 100 * HOUR, None, "looks are rare"),
            (Some(seen(0, None)), 201, 100 * HOUR, Some(225), "even for rare looks"),
        ] {
            let next = Seen::next(before, at(now), every);
            assert_eq!(next, seen(now, held_until), "{why}");
        }
    }
}
