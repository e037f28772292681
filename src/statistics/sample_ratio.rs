//! Chi-square tests: whether an audience was divided by its weights, and whether several rates are the same.

use super::{
    gamma::chi_square_above,
    proportion::{Proportion, real},
};

/// Probability below which a division is called wrong (Fabijan et al., KDD 2019).
pub const MISMATCH_BELOW: f64 = 0.001;

/// The sum of (observed - expected)² / expected.
fn distance(observed: &[f64], expected: &[f64]) -> f64 {
    observed
        .iter()
        .zip(expected)
        .map(|(count, expected)| (count - expected).powi(2) / expected)
        .sum()
}

/// Divisions of few people, of which the chi-square distribution knows too little.
mod exact {
    use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
    use statrs::function::gamma::ln_gamma;

    use super::distance;

    /// Expected counts below which the chi-square distribution is not taken (Cochran's rule).
    const EXPECTED_MIN: f64 = 5.0;
    /// People above which it is taken all the same.
    const PEOPLE_MAX: f64 = 10_000.0;
    /// People that are drawn in all draws together.
    const DRAWN_MAX: f64 = 2e7;
    /// Seed of these draws.
    const SEED: u64 = 20_261_124;
    /// Distances that differ by less in parts are the same but for rounding.
    const ROUNDING: f64 = 1e-9;

    /// How probable a division at least so far from the expected one is: of two classes by adding up, of more by seeded
    /// draws. None where the chi-square distribution will do.
    pub(super) fn p_value(statistic: f64, expected: &[f64]) -> Option<f64> {
        let people: f64 = expected.iter().sum();
        let is_small = expected.iter().any(|expected| *expected < EXPECTED_MIN);
        if !is_small || people > PEOPLE_MAX {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most ten thousand"
        )]
        let people = people.round() as u32;
        let least = statistic * (1.0 - ROUNDING);
        Some(match expected {
            [first, second] => of_two(people, [*first, *second], least),
            _ => drawn(people, expected, least),
        })
    }

    /// The sum over the binomial distribution.
    fn of_two(people: u32, expected: [f64; 2], least: f64) -> f64 {
        let n = f64::from(people);
        let share = expected[0] / (expected[0] + expected[1]);
        let probability = |count: f64| {
            let ways = ln_gamma(n + 1.0) - ln_gamma(count + 1.0) - ln_gamma(n - count + 1.0);
            (ways + count * share.ln() + (n - count) * (-share).ln_1p()).exp()
        };
        let is_far = |count: &f64| distance(&[*count, n - count], &expected) >= least;
        (0..=people).map(f64::from).filter(is_far).map(probability).sum::<f64>().min(1.0)
    }

    fn drawn(people: u32, expected: &[f64], least: f64) -> f64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most a hundred thousand"
        )]
        let draws = (DRAWN_MAX / f64::from(people.max(1))).min(99_999.0) as u32;
        let whole: f64 = expected.iter().sum();
        let mut random = StdRng::seed_from_u64(SEED);
        let mut counts = vec![0.0; expected.len()];
        let mut far = 1_u32;
        for _ in 0..draws {
            counts.fill(0.0);
            for _ in 0..people {
                let mut left = random.random_range(0.0..whole);
                let at = expected.iter().position(|expected| {
                    left -= expected;
                    left < 0.0
                });
                counts[at.unwrap_or(expected.len() - 1)] += 1.0;
            }
            far += u32::from(distance(&counts, expected) >= least);
        }
        f64::from(far) / f64::from(draws + 1)
    }
}

/// The result of a chi-square test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChiSquare {
    /// Sum of (observed - expected)² / expected.
    pub statistic: f64,
    /// Its degrees of freedom.
    pub degrees: u32,
    /// How probable so great a one would be if all were as expected.
    pub p_value: f64,
}

impl ChiSquare {
    fn new(statistic: f64, classes: usize) -> Option<Self> {
        let degrees = u32::try_from(classes).ok()?.checked_sub(1).filter(|degrees| *degrees > 0)?;
        Some(Self { statistic, degrees, p_value: chi_square_above(statistic, degrees) })
    }

    /// Whether these counts are divided in these proportions. None where there is nothing to divide.
    pub fn of_division(counts: &[u64], weights: &[f64]) -> Option<Self> {
        let pairs: Vec<(f64, f64)> = counts
            .iter()
            .zip(weights)
            .filter(|(count, weight)| **weight > 0.0 || **count > 0)
            .map(|(count, weight)| (real(*count), *weight))
            .collect();
        let total: f64 = pairs.iter().map(|(count, _)| count).sum();
        let whole: f64 = pairs.iter().map(|(_, weight)| weight).sum();
        if total <= 0.0 || whole <= 0.0 || pairs.iter().any(|(_, weight)| *weight <= 0.0) {
            return None;
        }
        let expected: Vec<f64> = pairs.iter().map(|(_, weight)| total * weight / whole).collect();
        let counts: Vec<f64> = pairs.iter().map(|(count, _)| *count).collect();
        let found = Self::new(distance(&counts, &expected), pairs.len())?;
        let exact = exact::p_value(found.statistic, &expected);
        Some(Self { p_value: exact.unwrap_or(found.p_value), ..found })
    }

    /// Whether each of several groups of counts is divided in its proportions: statistics and degrees of freedom add up.
    /// None where there is nothing to divide.
    pub fn of_divisions<'d>(
        divisions: impl IntoIterator<Item = (&'d [u64], &'d [f64])>,
    ) -> Option<Self> {
        let tests: Vec<Self> = divisions
            .into_iter()
            .filter_map(|(counts, weights)| Self::of_division(counts, weights))
            .collect();
        let degrees: u32 = tests.iter().map(|test| test.degrees).sum();
        let statistic: f64 = tests.iter().map(|test| test.statistic).sum();
        (degrees > 0).then(|| Self {
            statistic,
            degrees,
            p_value: chi_square_above(statistic, degrees),
        })
    }

    /// Whether several rates are the same. None where there are fewer than two, or nothing varies.
    pub fn of_rates(rates: &[Proportion]) -> Option<Self> {
        let tried: Vec<&Proportion> = rates.iter().filter(|rate| rate.trials > 0).collect();
        let successes: u64 = tried.iter().map(|rate| rate.successes).sum();
        let trials: u64 = tried.iter().map(|rate| rate.trials).sum();
        let pooled = Proportion { successes, trials }.rate();
        if pooled <= 0.0 || pooled >= 1.0 {
            return None;
        }
        let statistic = tried
            .iter()
            .map(|rate| {
                let n = real(rate.trials);
                (real(rate.successes) - n * pooled).powi(2) / (n * pooled * (1.0 - pooled))
            })
            .sum();
        Self::new(statistic, tried.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_division_test_matches_the_reference_vector() {
        let found = ChiSquare::of_division(&[5000, 5200], &[50.0, 50.0]).unwrap();
        assert!((found.statistic - 3.9216).abs() < 5e-5, "{found:?}");
        assert!((found.p_value - 0.04767).abs() < 5e-6, "{found:?}");
        assert!(found.p_value > MISMATCH_BELOW, "not flagged");
    }

    /// By scipy 1.17.1: `binomtest` has the same order of divisions at these counts; `chisquare` says 0.0071 and 1.9e-6.
    #[test]
    fn divisions_of_few_are_tested_exactly() {
        let p = |counts: &[u64], weights: &[f64]| {
            ChiSquare::of_division(counts, weights).unwrap().p_value
        };
        // One of 20 with a weight of 1 %: 1 - 0.99^20. Two: 0.0169.
        assert!((p(&[19, 1], &[99.0, 1.0]) - 0.182_093_062_4).abs() < 1e-9);
        assert!((p(&[18, 2], &[99.0, 1.0]) - 0.016_859_337_6).abs() < 1e-9);
        // Three of 20: 0.001 of such campaigns, and no more, are called wrong.
        let three = p(&[17, 3], &[99.0, 1.0]);
        assert!((0.000_9..0.001_1).contains(&three), "{three}");
        assert!((p(&[20, 0], &[99.0, 1.0]) - 1.0).abs() < 1e-9);
        // From five expected on, chi-square.
        let at = |few: u64| ChiSquare::of_division(&[500 - few, few], &[99.0, 1.0]).unwrap();
        assert_eq!(at(9), ChiSquare::new(at(9).statistic, 2).unwrap());
    }

    #[test]
    fn divisions_of_few_among_several_are_drawn() {
        let weights = [94.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let of = |counts: &[u64]| ChiSquare::of_division(counts, &weights).unwrap();
        let one = of(&[19, 1, 0, 0, 0, 0, 0]);
        assert_eq!(of(&[19, 1, 0, 0, 0, 0, 0]), one, "the same each time");
        // Two or more in one of the small classes, or three of them hit: rare, and not one in a thousand.
        let two = of(&[18, 2, 0, 0, 0, 0, 0]).p_value;
        assert!((0.02..0.2).contains(&two), "{two}");
        assert!(one.p_value > 0.3, "{one:?}");
        assert!(of(&[10, 10, 0, 0, 0, 0, 0]).p_value < MISMATCH_BELOW);
    }

    #[test]
    fn without_two_classes_there_is_no_result() {
        assert_eq!(ChiSquare::of_division(&[], &[]), None);
        assert_eq!(ChiSquare::of_division(&[100], &[100.0]), None);
        assert_eq!(ChiSquare::of_division(&[0, 0], &[50.0, 50.0]), None);
        assert_eq!(
            ChiSquare::of_division(&[10, 1], &[100.0, 0.0]),
            None,
            "a class of weight 0 has members"
        );
        let skewed = ChiSquare::of_division(&[900, 100], &[50.0, 50.0]).unwrap();
        assert!(skewed.p_value < MISMATCH_BELOW);
    }

    #[test]
    fn comparisons_of_rates_match_the_z_test() {
        let rates = [
            Proportion { successes: 200, trials: 1000 },
            Proportion { successes: 250, trials: 1000 },
        ];
        let z = rates[1].z_above(rates[0]).unwrap();
        let found = ChiSquare::of_rates(&rates).unwrap();
        assert!((found.statistic - z * z).abs() < 1e-9 && found.degrees == 1);
        assert_eq!(ChiSquare::of_rates(&[rates[0]]), None);
    }
}
