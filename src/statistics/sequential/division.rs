//! The sequential test of a division by weights: it may be looked at after each person.
//!
//! Under a Dirichlet prior around the weights, the likelihood of the counts relative to that under the weights themselves
//! is a martingale, so it exceeds 1/p with a probability of p at most, however often it is looked at (Lindon and Malek,
//! arXiv:2011.03567).

use statrs::function::gamma::ln_gamma;

use crate::proportion::real;

/// Concentration of the prior: large, as real faults move shares by a few percent.
const CONCENTRATION: f64 = 1_000.0;

/// People of one time, by class, and the weights they were divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Division<'d> {
    /// Number of people by class.
    pub counts: &'d [u64],
    /// Any positive multiples of the shares, in the same order. Classes with a weight of 0 and no people do not count.
    pub weights: &'d [f64],
}

/// The smallest p-value that holds for the divisions as they are now, and as they were at any time before: 1 over the
/// likelihood ratio, at most 1. None where there is nothing to divide, or a class without a weight has people.
pub fn p_value(divisions: &[Division<'_>]) -> Option<f64> {
    let logs: Vec<f64> = divisions.iter().filter_map(Division::ln_ratio).collect();
    (!logs.is_empty()).then(|| (-logs.iter().sum::<f64>()).exp().min(1.0))
}

impl Division<'_> {
    /// The logarithm of the likelihood ratio.
    fn ln_ratio(&self) -> Option<f64> {
        let classes: Vec<(f64, f64)> = self
            .counts
            .iter()
            .zip(self.weights)
            .filter(|(count, weight)| **count > 0 || **weight > 0.0)
            .map(|(count, weight)| (real(*count), *weight))
            .collect();
        let people: f64 = classes.iter().map(|(count, _)| count).sum();
        let whole: f64 = classes.iter().map(|(_, weight)| weight).sum();
        let is_divided = classes.len() > 1 && people > 0.0;
        if !is_divided || classes.iter().any(|(_, weight)| *weight <= 0.0) {
            return None;
        }
        let of_class = |(count, weight): &(f64, f64)| {
            let share = weight / whole;
            let prior = CONCENTRATION * share;
            ln_gamma(prior + count) - ln_gamma(prior) - count * share.ln()
        };
        let rest = ln_gamma(CONCENTRATION) - ln_gamma(CONCENTRATION + people);
        Some(rest + classes.iter().map(of_class).sum::<f64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(counts: [u64; 2], weights: [f64; 2]) -> f64 {
        p_value(&[Division { counts: &counts, weights: &weights }]).unwrap()
    }

    #[test]
    fn likelihood_ratios_match_the_oracle() {
        let rows = include_str!("../oracles/division.csv").lines();
        let mut compared = 0;
        for row in rows.filter(|row| !row.starts_with('#')) {
            let numbers: Vec<f64> = row.split(',').map(|it| it.parse().unwrap()).collect();
            let classes = (numbers.len() - 1) / 2;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
            let counts: Vec<u64> = numbers[..classes].iter().map(|count| *count as u64).collect();
            let division = Division { counts: &counts, weights: &numbers[classes..2 * classes] };
            let found = division.ln_ratio().unwrap();
            let expected = numbers[2 * classes];
            assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "{row}: {found}");
            compared += 1;
        }
        assert!(compared >= 6, "{compared}");
    }

    #[test]
    fn a_wrong_division_is_found_and_a_right_one_is_not() {
        assert!(two([10_000, 10_000], [50.0, 50.0]) > 0.99);
        assert!(two([10_400, 9_600], [1.0, 1.0]) < 0.001);
        assert!(two([306, 288], [50.0, 50.0]) > 0.5);
        assert!(two([306, 288], [90.0, 10.0]) < 1e-12);
        // Each time by its own weights.
        let epochs = [
            Division { counts: &[153, 144], weights: &[50.0, 50.0] },
            Division { counts: &[180, 20], weights: &[90.0, 10.0] },
        ];
        assert!(p_value(&epochs).unwrap() > 0.5);
    }

    #[test]
    fn where_nothing_is_divided_there_is_no_result() {
        assert_eq!(p_value(&[]), None);
        assert_eq!(p_value(&[Division { counts: &[0, 0], weights: &[1.0, 1.0] }]), None);
        assert_eq!(p_value(&[Division { counts: &[5, 0], weights: &[1.0, 0.0] }]), None);
        assert_eq!(p_value(&[Division { counts: &[5, 5], weights: &[1.0, 0.0] }]), None);
        assert!(two([10_000_000_000, 10_000_000_000], [1.0, 1.0]) > 0.99);
        let eight = Division { counts: &[1, 0, 0, 0, 0, 0, 0, 19], weights: &[1.0; 8] };
        assert!(p_value(&[eight]).is_some_and(f64::is_finite));
    }
}
