//! Chi-square tests: whether an audience was divided by its weights, and whether several rates are the same.

use super::{
    gamma::chi_square_above,
    proportion::{Proportion, real},
};

/// Probability below which a division is called wrong (Fabijan et al., KDD 2019).
pub const MISMATCH_BELOW: f64 = 0.001;

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
        let statistic = pairs
            .iter()
            .map(|(count, weight)| {
                let expected = total * weight / whole;
                (count - expected).powi(2) / expected
            })
            .sum();
        Self::new(statistic, pairs.len())
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
