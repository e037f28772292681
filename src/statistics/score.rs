//! Score intervals of Miettinen and Nurminen (Stat. Med. 4, 1985, 213-226) for the difference and for the ratio of two
//! rates: the values that a score test at this confidence would not refuse. They are defined where none or all succeed.

use crate::proportion::{Interval, Proportion, deviations, real};

/// Halvings of an interval in a search: as many as a double has bits.
const HALVINGS: u32 = 60;
/// Doublings in the search for a ratio that is refused.
const DOUBLINGS: u32 = 200;

/// The successes and failures of two sides, as doubles.
#[derive(Debug, Clone, Copy)]
struct Sides {
    own_successes: f64,
    own_trials: f64,
    base_successes: f64,
    base_trials: f64,
}

impl Sides {
    fn new(own: Proportion, base: Proportion) -> Self {
        Self {
            own_successes: real(own.successes),
            own_trials: real(own.trials),
            base_successes: real(base.successes),
            base_trials: real(base.trials),
        }
    }

    fn rates(&self) -> (f64, f64) {
        (self.own_successes / self.own_trials, self.base_successes / self.base_trials)
    }

    /// The likeliest rate of the base if the own rate is `slope` times that plus `offset`: where the derivative of the
    /// logarithm of the likelihood, which falls, is 0.
    fn likeliest_base(&self, slope: f64, offset: f64) -> f64 {
        let own = |base: f64| slope * base + offset;
        let derivative = |base: f64| {
            slope * part(self.own_successes, own(base))
                - slope * part(self.own_trials - self.own_successes, 1.0 - own(base))
                + part(self.base_successes, base)
                - part(self.base_trials - self.base_successes, 1.0 - base)
        };
        let low = 0.0_f64.max(-offset / slope);
        let high = 1.0_f64.min((1.0 - offset) / slope);
        root(low, high, derivative)
    }

    /// How far the rates are from `own = slope · base + offset`, in standard deviations of that.
    fn deviation(&self, slope: f64, offset: f64) -> f64 {
        let (own, base) = self.rates();
        let difference = own - slope * base - offset;
        let likeliest = self.likeliest_base(slope, offset);
        let likeliest_own = (slope * likeliest + offset).clamp(0.0, 1.0);
        let all = self.own_trials + self.base_trials;
        let variance = (likeliest_own * (1.0 - likeliest_own) / self.own_trials
            + slope * slope * likeliest * (1.0 - likeliest) / self.base_trials)
            * all
            / (all - 1.0);
        match variance > 0.0 {
            true => difference / variance.sqrt(),
            false if difference.abs() < f64::EPSILON => 0.0,
            false => difference.signum() * f64::INFINITY,
        }
    }
}

/// `count / rate`; nothing of nothing.
fn part(count: f64, rate: f64) -> f64 {
    if count > 0.0 { count / rate.max(f64::MIN_POSITIVE) } else { 0.0 }
}

/// Where a falling function passes 0 between two ends.
fn root(mut low: f64, mut high: f64, falling: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if falling(middle) > 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Where the difference of two rates lies. None where one has no trials.
pub fn difference(own: Proportion, base: Proportion, confidence: f64) -> Option<Interval> {
    if own.trials == 0 || base.trials == 0 {
        return None;
    }
    let (sides, z) = (Sides::new(own, base), deviations(confidence));
    let middle = own.rate() - base.rate();
    let deviation = |difference: f64| sides.deviation(1.0, difference);
    Some(Interval {
        lower: root(-1.0, middle, |at| deviation(at) - z),
        upper: root(middle, 1.0, |at| deviation(at) + z),
    })
}

/// How far the difference of two rates lies above a given one, in standard deviations as they were if that were the true
/// one (Farrington and Manning, Stat. Med. 9, 1990, 1447-1454). None where one has no trials.
pub fn z_above(own: Proportion, base: Proportion, difference: f64) -> Option<f64> {
    let is_tried = own.trials > 0 && base.trials > 0;
    is_tried.then(|| Sides::new(own, base).deviation(1.0, difference))
}

/// Where the ratio of two rates lies. None where one has no trials, or the base has no successes, so that the ratio has no
/// upper end.
pub fn ratio(own: Proportion, base: Proportion, confidence: f64) -> Option<Interval> {
    if own.trials == 0 || base.successes == 0 {
        return None;
    }
    let (sides, z) = (Sides::new(own, base), deviations(confidence));
    let middle = own.rate() / base.rate();
    let deviation = |ratio: f64| sides.deviation(ratio, 0.0);
    let mut high = middle.max(1.0);
    for _ in 0..DOUBLINGS {
        if deviation(high) < -z {
            break;
        }
        high *= 2.0;
    }
    let lower = if own.successes == 0 { 0.0 } else { root(0.0, middle, |at| deviation(at) - z) };
    Some(Interval { lower, upper: root(middle, high, |at| deviation(at) + z) })
}

/// Where the lift of a rate over another lies: its ratio less 1. None as for [`ratio`].
pub fn lift(own: Proportion, base: Proportion, confidence: f64) -> Option<Interval> {
    let ratio = ratio(own, base, confidence)?;
    Some(Interval { lower: ratio.lower - 1.0, upper: ratio.upper - 1.0 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(successes: u64, trials: u64) -> Proportion {
        Proportion { successes, trials }
    }

    /// Intervals of 95 % for two sides.
    struct Vector {
        own: Proportion,
        base: Proportion,
        difference: (f64, f64),
        ratio: Option<(f64, f64)>,
    }

    /// The vectors of `oracles/score.py`.
    fn vectors() -> Vec<Vector> {
        include_str!("oracles/score.csv")
            .lines()
            .skip(1)
            .map(|line| {
                let fields: Vec<&str> = line.split(',').collect();
                let count = |at: usize| fields[at].parse().unwrap();
                let value = |at: usize| fields[at].parse::<f64>().unwrap();
                Vector {
                    own: of(count(0), count(1)),
                    base: of(count(2), count(3)),
                    difference: (value(4), value(5)),
                    ratio: (!fields[6].is_empty()).then(|| (value(6), value(7))),
                }
            })
            .collect()
    }

    #[test]
    fn intervals_match_the_oracle() {
        let vectors = vectors();
        assert!(vectors.len() >= 12);
        for Vector { own, base, difference: expected, ratio: expected_ratio } in vectors {
            let found = difference(own, base, 0.95).unwrap();
            assert!(
                (found.lower - expected.0).abs() < 1e-9 && (found.upper - expected.1).abs() < 1e-9,
                "{own:?} {base:?}: {found:?} {expected:?}"
            );
            let found = ratio(own, base, 0.95);
            assert_eq!(found.is_some(), expected_ratio.is_some(), "{own:?} {base:?}");
            if let Some((found, expected)) = found.zip(expected_ratio) {
                let is_near =
                    |found: f64, expected: f64| (found - expected).abs() < 1e-9 * expected.max(1.0);
                assert!(
                    is_near(found.lower, expected.0) && is_near(found.upper, expected.1),
                    "{own:?} {base:?}: {found:?} {expected:?}"
                );
            }
        }
    }

    #[test]
    fn where_all_succeed_the_interval_is_not_a_point() {
        let found = ratio(of(40, 40), of(40, 40), 0.95).unwrap();
        assert!(found.lower < 0.92 && found.upper > 1.09, "{found:?}");
        let found = difference(of(0, 40), of(0, 40), 0.95).unwrap();
        assert!(found.lower < -0.08 && found.upper > 0.08, "{found:?}");
    }

    #[test]
    fn without_trials_there_is_no_interval() {
        assert_eq!(
            (difference(of(0, 0), of(1, 2), 0.95), ratio(of(0, 0), of(1, 2), 0.95)),
            (None, None)
        );
        assert_eq!(
            (difference(of(1, 2), of(0, 0), 0.95), ratio(of(1, 2), of(0, 2), 0.95)),
            (None, None)
        );
    }

    #[test]
    fn ten_thousand_million_trials_have_an_interval() {
        let (own, base) = (of(3_000_100_000, 10_000_000_000), of(3_000_000_000, 10_000_000_000));
        let found = difference(own, base, 0.95).unwrap();
        assert!((found.lower - (1e-5 - 1.2702e-5)).abs() < 1e-8, "{found:?}");
        assert!((found.upper - (1e-5 + 1.2702e-5)).abs() < 1e-8, "{found:?}");
    }

    proptest! {
        #[test]
        fn intervals_hold_what_was_observed_and_turn_round(
            a in 0_u64..=300, n in 1_u64..=300, b in 0_u64..=300, m in 1_u64..=300,
        ) {
            let (own, base) = (of(a.min(n), n), of(b.min(m), m));
            let observed = own.rate() - base.rate();
            let found = difference(own, base, 0.95).unwrap();
            prop_assert!(found.lower <= observed + 1e-9 && observed <= found.upper + 1e-9);
            prop_assert!(found.lower >= -1.0 && found.upper <= 1.0);
            let back = difference(base, own, 0.95).unwrap();
            prop_assert!((back.lower + found.upper).abs() < 1e-9);
            if let Some(range) = ratio(own, base, 0.95) {
                let observed = own.rate() / base.rate();
                prop_assert!(range.lower <= observed + 1e-9 && observed <= range.upper + 1e-9);
                if let Some(back) = ratio(base, own, 0.95) {
                    prop_assert!((back.lower * range.upper - 1.0).abs() < 1e-6, "{back:?} {range:?}");
                }
                // Both say the same about whether there is a difference.
                let (is_apart, differs) = (
                    range.lower > 1.0 + 1e-9 || range.upper < 1.0 - 1e-9,
                    found.lower > 1e-9 || found.upper < -1e-9,
                );
                prop_assert_eq!(is_apart, differs, "{:?} {:?}", range, found);
            }
        }
    }
}
