//! Rates, their confidence intervals, and the comparison of two rates.

use super::{gamma::two_sided, normal};

/// Trials of each rate below which nothing is called significant.
pub const TRIALS_MIN: u64 = 30;
/// Expected successes and failures below which nothing is called significant (Cochran's rule).
pub const EXPECTED_MIN: f64 = 5.0;

/// Successes out of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proportion {
    /// Trials that succeeded, at most `trials`.
    pub successes: u64,
    /// Trials, successful or not.
    pub trials: u64,
}

/// Both ends of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end, inclusive.
    pub lower: f64,
    /// Its upper end, inclusive.
    pub upper: f64,
}

/// A count as a double.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn real(count: u64) -> f64 {
    count as f64
}

/// `part / whole`; 0 where the whole is 0.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { real(part) / real(whole) }
}

/// Half width of a two-sided interval of this confidence, in standard deviations.
pub fn deviations(confidence: f64) -> f64 {
    normal::quantile(f64::midpoint(1.0, confidence))
}

impl Proportion {
    /// The rate; 0 of no trials.
    pub fn rate(self) -> f64 {
        share(self.successes, self.trials)
    }

    /// Where the rate lies: the score interval of Wilson (J. Am. Stat. Assoc. 22, 1927). Of no trials it may
    /// be anything.
    pub fn interval(self, confidence: f64) -> Interval {
        if self.trials == 0 {
            return Interval { lower: 0.0, upper: 1.0 };
        }
        let (n, p, z) = (real(self.trials), self.rate(), deviations(confidence));
        let middle = p + z * z / (2.0 * n);
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + z * z / n;
        // The ends are exact where all or none succeed; rounding would miss them.
        let lower = if self.successes == 0 { 0.0 } else { ((middle - half) / scale).max(0.0) };
        let upper =
            if self.successes == self.trials { 1.0 } else { ((middle + half) / scale).min(1.0) };
        Interval { lower, upper }
    }

    fn pooled(self, other: Self) -> f64 {
        share(self.successes + other.successes, self.trials + other.trials)
    }

    /// How far this rate lies above another, in standard deviations of their difference if both were the
    /// same: the pooled two-proportion z. None where one has no trials or nothing varies.
    pub fn z_above(self, base: Self) -> Option<f64> {
        let pooled = self.pooled(base);
        let is_tried = self.trials > 0 && base.trials > 0;
        let varies = pooled > 0.0 && pooled < 1.0;
        (is_tried && varies).then(|| {
            let variance =
                pooled * (1.0 - pooled) * (1.0 / real(self.trials) + 1.0 / real(base.trials));
            (self.rate() - base.rate()) / variance.sqrt()
        })
    }

    /// How probable so great a difference would be if both rates were the same. None where one has no
    /// trials; 1 where nothing varies.
    pub fn p_value(self, base: Self) -> Option<f64> {
        if self.trials == 0 || base.trials == 0 {
            return None;
        }
        Some(self.z_above(base).map_or(1.0, two_sided))
    }

    /// The difference in parts of the other rate. None where that is 0.
    pub fn lift(self, base: Self) -> Option<f64> {
        (self.trials > 0 && base.successes > 0).then(|| self.rate() / base.rate() - 1.0)
    }

    /// The fewest successes or failures that are expected on one side if both rates are the same.
    pub fn fewest_expected(self, base: Self) -> f64 {
        let pooled = self.pooled(base);
        real(self.trials.min(base.trials)) * pooled.min(1.0 - pooled)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(successes: u64, trials: u64) -> Proportion {
        Proportion { successes, trials }
    }

    fn near(found: f64, expected: f64, within: f64) -> bool {
        (found - expected).abs() <= within
    }

    /// Reference vectors, to the digits they are given with. Intervals have theirs in `score`.
    #[test]
    fn comparisons_match_the_reference_vectors() {
        let table = [
            (of(200, 1000), of(250, 1000), 2.6774, 0.007_420, 0.250),
            (of(20, 1000), of(30, 1000), 1.4322, 0.152_078, 0.500),
            (of(5, 50), of(9, 50), 1.1528, 0.249_000, 0.800),
        ];
        for (base, other, z, p, lift) in table {
            assert!(near(other.z_above(base).unwrap(), z, 5e-5), "{:?}", other.z_above(base));
            assert!(near(other.p_value(base).unwrap(), p, 5e-7), "{:?}", other.p_value(base));
            assert!(near(other.lift(base).unwrap(), lift, 5e-4));
        }
    }

    #[test]
    fn without_trials_there_is_no_result() {
        let (none, some) = (of(0, 0), of(10, 100));
        assert!(none.rate().abs() < f64::EPSILON);
        assert_eq!(none.interval(0.95), Interval { lower: 0.0, upper: 1.0 });
        assert_eq!((none.p_value(some), some.p_value(none)), (None, None));
        assert_eq!(none.lift(some), None);
        assert_eq!(some.lift(of(0, 100)), None);
        // Nothing varies: the rates are the same.
        assert_eq!(
            (of(0, 100).z_above(of(0, 50)), of(0, 100).p_value(of(0, 50))),
            (None, Some(1.0))
        );
        assert_eq!(of(50, 50).p_value(of(100, 100)), Some(1.0));
    }

    #[test]
    fn the_fewest_expected_are_of_the_smaller_side() {
        assert!((of(4, 100).fewest_expected(of(5, 100)) - 4.5).abs() < 1e-12);
        assert!((of(5, 100).fewest_expected(of(5, 200)) - 10.0 / 3.0).abs() < 1e-12);
        assert!(
            (of(96, 100).fewest_expected(of(95, 100)) - 4.5).abs() < 1e-12,
            "failures count as well"
        );
    }

    proptest! {
        #[test]
        fn an_interval_holds_the_observed_rate(a in 0_u64..=2000, n in 1_u64..=2000, b in 0_u64..=2000, m in 1_u64..=2000) {
            let (own, base) = (of(a.min(n), n), of(b.min(m), m));
            let interval = own.interval(0.95);
            prop_assert!(interval.lower <= own.rate() && own.rate() <= interval.upper);
            prop_assert!((0.0..=1.0).contains(&interval.lower) && (0.0..=1.0).contains(&interval.upper));
            let p = own.p_value(base).unwrap();
            prop_assert!((0.0..=1.0).contains(&p) && (p - base.p_value(own).unwrap()).abs() < 1e-12);
        }
    }
}
