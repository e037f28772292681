//! Comparison of a campaign's variants by one metric, and the significant winner.

use statistics::{
    beta::{Beta, probabilities_to_be_best},
    mean::{Mean, probabilities_to_be_greatest},
    proportion::{Interval, Proportion, real},
};

/// The measured metric of a variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    Rate(Proportion),
    /// The mean revenue of a recipient.
    Money(Mean),
}

impl Measure {
    /// The rate or the mean amount.
    pub fn value(&self) -> f64 {
        match self {
            Self::Rate(rate) => rate.rate(),
            Self::Money(mean) => mean.value(),
        }
    }

    pub fn interval(&self, confidence: f64) -> Interval {
        match self {
            Self::Rate(rate) => rate.interval(confidence),
            Self::Money(mean) => mean.interval(confidence),
        }
    }

    pub fn sample(&self) -> u64 {
        match self {
            Self::Rate(rate) => rate.trials,
            Self::Money(mean) => mean.count,
        }
    }

    /// Compares it with another of its kind.
    pub fn against(&self, base: &Self, confidence: f64) -> Comparison {
        match (self, base) {
            (Self::Rate(own), Self::Rate(base)) => Comparison {
                lift: own.lift(*base),
                lift_interval: own.lift_interval(*base, confidence),
                z_score: own.z_above(*base),
                p_value: own.p_value(*base),
                warning: own.too_small(*base),
            },
            (Self::Money(own), Self::Money(base)) => Comparison {
                lift: own.lift(*base),
                lift_interval: own.lift_interval(*base, confidence),
                z_score: own.z_above(*base),
                p_value: own.p_value(*base),
                warning: own.too_small(*base),
            },
            _ => Comparison::default(),
        }
    }
}

/// The comparison of a variant with another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// The difference relative to the other.
    pub lift: Option<f64>,
    pub lift_interval: Option<Interval>,
    /// The difference in standard deviations.
    pub z_score: Option<f64>,
    /// The probability of such a difference if both were the same.
    pub p_value: Option<f64>,
    /// Why the comparison is not conclusive, if so.
    pub warning: Option<String>,
}

/// p-values adjusted for multiple comparisons (Holm, Scand. J. Stat. 6, 1979, 65-70), in their order. Missing
/// ones do not count.
pub fn holm(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> =
        p_values.iter().enumerate().filter_map(|(at, p)| p.map(|p| (at, p))).collect();
    order.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut adjusted = vec![None; p_values.len()];
    let mut least = 0.0_f64;
    for (rank, (at, p)) in order.iter().enumerate() {
        let left = u32::try_from(order.len() - rank).unwrap_or(u32::MAX);
        least = least.max((p * f64::from(left)).min(1.0));
        adjusted[*at] = Some(least);
    }
    adjusted
}

/// For each the probability that it is the best: rates by their posterior, means as normally distributed.
pub fn probabilities(measures: &[Measure]) -> Vec<f64> {
    let rates: Option<Vec<Beta>> = measures
        .iter()
        .map(|measure| match measure {
            Measure::Rate(rate) => Some(Beta {
                alpha: 1.0 + real(rate.successes),
                beta: 1.0 + real(rate.trials - rate.successes),
            }),
            Measure::Money(_) => None,
        })
        .collect();
    if let Some(rates) = rates {
        return probabilities_to_be_best(&rates);
    }
    let means = measures.iter().map(|measure| match measure {
        Measure::Money(mean) => *mean,
        Measure::Rate(_) => Mean::default(),
    });
    probabilities_to_be_greatest(&means.collect::<Vec<_>>())
}

/// The index of the best; the first of equals. None for an empty list.
pub fn best(measures: &[Measure]) -> Option<usize> {
    let places = measures.iter().enumerate();
    let found = places.max_by(|(at, one), (later, other)| {
        one.value().total_cmp(&other.value()).then(later.cmp(at))
    });
    found.map(|(at, _)| at)
}

/// The index of the best if it beats each of the others significantly: with this confidence, adjusted for
/// their number, and with large enough samples.
pub fn winner(measures: &[Measure], confidence: f64) -> Option<usize> {
    let best = best(measures)?;
    let others = measures.iter().enumerate().filter(|(at, _)| *at != best);
    let compared: Vec<Comparison> =
        others.map(|(_, other)| measures[best].against(other, confidence)).collect();
    if compared.is_empty() || compared.iter().any(|one| one.warning.is_some()) {
        return None;
    }
    let p_values: Vec<Option<f64>> = compared.iter().map(|one| one.p_value).collect();
    let is_sure = |p: &Option<f64>| p.is_some_and(|p| p < 1.0 - confidence);
    holm(&p_values).iter().all(is_sure).then_some(best)
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

    use super::*;

    fn rate(successes: u64, trials: u64) -> Measure {
        Measure::Rate(Proportion { successes, trials })
    }

    #[test]
    fn p_values_are_adjusted_by_holms_method() {
        let found = holm(&[Some(0.04), None, Some(0.01), Some(0.03)]);
        // 3 × 0.01; 2 × 0.03; and 0.04, raised to the value before it.
        let expected = [Some(0.06), None, Some(0.03), Some(0.06)];
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.is_some(), expected.is_some());
            let (found, expected) = (found.unwrap_or(0.0), expected.unwrap_or(0.0));
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(holm(&[Some(0.6), Some(0.9)]), [Some(1.0), Some(1.0)]);
        assert_eq!(holm(&[]), []);
    }

    #[test]
    fn the_winner_beats_all_others() {
        assert_eq!(winner(&[rate(200, 1000), rate(250, 1000)], 0.95), Some(1));
        assert_eq!(winner(&[rate(20, 1000), rate(30, 1000)], 0.95), None);
        assert_eq!(winner(&[rate(20, 1000), rate(30, 1000)], 0.8), Some(1));
        // Better than the first, not than the third.
        assert_eq!(winner(&[rate(200, 1000), rate(250, 1000), rate(245, 1000)], 0.95), None);
        // Too few.
        assert_eq!(winner(&[rate(0, 29), rate(29, 29)], 0.95), None);
        assert_eq!(winner(&[rate(10, 100)], 0.95), None);
        assert_eq!((winner(&[], 0.95), best(&[])), (None, None));
        assert_eq!(best(&[rate(1, 10), rate(2, 20)]), Some(0), "the first of equals");
    }

    #[test]
    fn probabilities_match_the_closed_form() {
        let found = probabilities(&[rate(200, 1000), rate(250, 1000)]);
        assert!((found[1] - 0.9963).abs() < 5e-5, "{found:?}");
    }

    /// Of tests of two equal variants, one in twenty finds a difference. Two thousand of them are within 4 %
    /// and 6 % (two standard deviations).
    #[test]
    fn equal_variants_differ_significantly_in_one_of_twenty_tests() {
        const TESTS: u32 = 2_000;
        const RECIPIENTS: u64 = 2_000;
        let mut random = StdRng::seed_from_u64(20_261_121);
        let (mut significant, mut among_three) = (0, 0);
        for _ in 0..TESTS {
            let mut arm = || {
                rate((0..RECIPIENTS).filter(|_| random.random_bool(0.2)).count() as u64, RECIPIENTS)
            };
            let (a, b, c) = (arm(), arm(), arm());
            significant += u32::from(winner(&[a, b], 0.95).is_some());
            among_three += u32::from(winner(&[a, b, c], 0.95).is_some());
        }
        let share = f64::from(significant) / f64::from(TESTS);
        assert!((0.04..=0.06).contains(&share), "{share}");
        // A significant win over two others is rarer still.
        assert!(f64::from(among_three) / f64::from(TESTS) < 0.05, "{among_three}");
    }
}
