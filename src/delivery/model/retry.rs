//! When a message that a provider put off is tried again.

use std::time::Duration;

/// How often a provider is asked at most.
pub const ATTEMPTS_MAX: i16 = 6;
/// Pause after the first try; it doubles with each.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest pause of ours.
const PAUSE_MAX: Duration = Duration::from_mins(15);
/// Longest pause a provider may ask for.
const ASKED_MAX: Duration = Duration::from_hours(24);

/// How long to wait after so many tries: twice as long each time, a part of it by chance (`jitter`, 0 to 1)
/// so that what failed together does not come back together. What the provider asked for is the least.
pub fn pause(attempts: i16, asked: Option<Duration>, jitter: f64) -> Duration {
    let attempts = u32::try_from(attempts).unwrap_or(0);
    let own = supervisor::doubled(PAUSE, PAUSE_MAX, attempts).mul_f64(0.75 + jitter / 2.0);
    own.min(PAUSE_MAX).max(asked.unwrap_or_default().min(ASKED_MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pauses_double_up_to_a_quarter_of_an_hour() {
        let seconds = |attempts| pause(attempts, None, 0.5).as_secs();
        assert_eq!([1, 2, 3, 4, 5, 10, 11, 30_000].map(seconds), [1, 2, 4, 8, 16, 512, 900, 900]);
    }

    #[test]
    fn a_provider_is_not_asked_before_it_wants_to_be() {
        let asked = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(pause(1, asked(30), 0.5).as_secs(), 30);
        assert_eq!(pause(6, asked(1), 0.5).as_secs(), 32);
        assert_eq!(pause(1, asked(10_000_000), 0.0), ASKED_MAX);
    }

    proptest! {
        #[test]
        fn a_pause_is_never_far_from_its_middle(attempts in 1_i16..40, jitter in 0.0..1.0_f64) {
            let (found, middle) = (pause(attempts, None, jitter), pause(attempts, None, 0.5));
            prop_assert!(found >= middle.mul_f64(0.74) && found <= middle.mul_f64(1.26));
        }
    }
}
