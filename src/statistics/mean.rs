//! Means of amounts of money, and how two of them compare: by the unequal-variance z of large samples.

use crate::{
    gamma::{normal_below, two_sided},
    proportion::{Interval, deviations, real},
    quadrature::{ends, integral},
};

/// Standard deviations beyond which a normal distribution is left out of an integral.
const TAIL: f64 = 8.0;

/// Sums over amounts, from which mean and variance follow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mean {
    /// Sum of all amounts.
    pub sum: f64,
    /// Sum of their squares.
    pub sum_of_squares: f64,
    /// Number of amounts, those of 0 included.
    pub count: u64,
}

impl Mean {
    /// The mean; 0 of none.
    pub fn value(self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / real(self.count) }
    }

    /// The variance of the mean; 0 of fewer than two.
    pub fn variance(self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let n = real(self.count);
        let spread = (self.sum_of_squares - self.sum * self.sum / n).max(0.0);
        spread / (n - 1.0) / n
    }

    /// The standard deviation of the mean; of nothing that varies one that is next to nothing.
    fn deviation(self) -> f64 {
        self.variance().sqrt().max(self.value().abs() * 1e-9).max(1e-12)
    }

    /// The probability that the mean lies below `x`.
    fn below(self, x: f64) -> f64 {
        normal_below((x - self.value()) / self.deviation())
    }

    /// Where the mean lies.
    pub fn interval(self, confidence: f64) -> Interval {
        let half = deviations(confidence) * self.variance().sqrt();
        Interval { lower: self.value() - half, upper: self.value() + half }
    }

    /// Where the difference of this mean and another lies: the normal interval with unequal variances.
    pub fn difference(self, base: Self, confidence: f64) -> Interval {
        let half = deviations(confidence) * (self.variance() + base.variance()).sqrt();
        let difference = self.value() - base.value();
        Interval { lower: difference - half, upper: difference + half }
    }

    /// How far this mean lies above another, in standard deviations. None where nothing varies.
    pub fn z_above(self, base: Self) -> Option<f64> {
        let variance = self.variance() + base.variance();
        (variance > 0.0).then(|| (self.value() - base.value()) / variance.sqrt())
    }

    /// How probable so great a difference would be if both were the same. None of none; 1 where nothing varies.
    pub fn p_value(self, base: Self) -> Option<f64> {
        if self.count == 0 || base.count == 0 {
            return None;
        }
        Some(self.z_above(base).map_or(1.0, two_sided))
    }

    /// The difference in parts of the other. None where that is not above 0.
    pub fn lift(self, base: Self) -> Option<f64> {
        (self.count > 0 && base.value() > 0.0).then(|| self.value() / base.value() - 1.0)
    }

    /// Where that lies, by the delta method on the logarithm of the ratio. None where one is not above 0.
    pub fn lift_interval(self, base: Self, confidence: f64) -> Option<Interval> {
        let (own, other) = (self.value(), base.value());
        if own <= 0.0 || other <= 0.0 {
            return None;
        }
        let variance = self.variance() / (own * own) + base.variance() / (other * other);
        let (log, half) = ((own / other).ln(), deviations(confidence) * variance.sqrt());
        Some(Interval { lower: (log - half).exp_m1(), upper: (log + half).exp_m1() })
    }
}

/// For each of several means the probability that it is the greatest, each taken for normally distributed. They add up
/// to 1.
pub fn probabilities_to_be_greatest(means: &[Mean]) -> Vec<f64> {
    let pieces = pieces(means);
    let greatest = |own: usize, mean: &Mean| -> f64 {
        let (middle, deviation) = (mean.value(), mean.deviation());
        let density = |x: f64| {
            let z = (x - middle) / deviation;
            (-z * z / 2.0).exp() / (deviation * std::f64::consts::TAU.sqrt())
        };
        let others_below = |x: f64| -> f64 {
            let others = means.iter().enumerate().filter(|(at, _)| *at != own);
            others.map(|(_, other)| other.below(x)).product()
        };
        let (low, high) = (middle - TAIL * deviation, middle + TAIL * deviation);
        integral(low, high, &pieces, |x| density(x) * others_below(x))
    };
    let found: Vec<f64> = means.iter().enumerate().map(|(at, mean)| greatest(at, mean)).collect();
    let whole: f64 = found.iter().sum();
    found.into_iter().map(|part| if whole > 0.0 { part / whole } else { 0.0 }).collect()
}

/// For each of several means how much is lost on average if it is chosen: the expectation of what the greatest has more
/// (Stucchio 2014), each taken for normally distributed.
pub fn expected_losses(means: &[Mean]) -> Vec<f64> {
    let end = |side: f64| {
        let ends = means.iter().map(|mean| mean.value() + side * TAIL * mean.deviation());
        ends.fold(f64::NEG_INFINITY, f64::max)
    };
    let (low, high) = (end(-1.0), end(1.0));
    if means.is_empty() {
        return Vec::new();
    }
    let all_below = |x: f64| means.iter().map(|mean| mean.below(x)).product::<f64>();
    let greatest = high - integral(low, high, &pieces(means), all_below);
    means.iter().map(|mean| (greatest - mean.value()).max(0.0)).collect()
}

/// Where the distributions change fast.
fn pieces(means: &[Mean]) -> Vec<f64> {
    means.iter().flat_map(|mean| ends(mean.value(), mean.deviation())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(amounts: &[f64]) -> Mean {
        Mean {
            sum: amounts.iter().sum(),
            sum_of_squares: amounts.iter().map(|amount| amount * amount).sum(),
            count: amounts.len() as u64,
        }
    }

    #[test]
    fn comparisons_of_means_match_values_computed_by_hand() {
        // Variances 2.5 and 10, of 5 each: the difference 3 has the variance 2.5.
        let (one, two) = (of(&[1.0, 2.0, 3.0, 4.0, 5.0]), of(&[2.0, 4.0, 6.0, 8.0, 10.0]));
        let z = two.z_above(one).unwrap();
        assert!((z - 3.0 / 2.5_f64.sqrt()).abs() < 1e-12, "{z}");
        assert!((two.lift(one).unwrap() - 1.0).abs() < 1e-12);
        let found = probabilities_to_be_greatest(&[one, two]);
        assert!((found[1] - normal_below(z)).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn the_loss_of_a_choice_matches_the_closed_form() {
        let (one, two) = (of(&[1.0, 2.0, 3.0, 4.0, 5.0]), of(&[2.0, 4.0, 6.0, 8.0, 10.5]));
        let losses = expected_losses(&[one, two]);
        // E[max(D, 0)] of a normal D: σ·φ(μ/σ) + μ·Φ(μ/σ).
        let (mean, deviation) =
            (two.value() - one.value(), (one.variance() + two.variance()).sqrt());
        let z = mean / deviation;
        let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
        let expected = deviation * density + mean * normal_below(z);
        assert!((losses[0] - expected).abs() < 1e-9, "{losses:?} {expected}");
        assert!((losses[1] - (expected - mean)).abs() < 1e-9, "{losses:?}");
        assert_eq!(expected_losses(&[]), [0.0; 0]);
    }

    #[test]
    fn a_narrow_mean_beside_a_wide_one_is_not_missed() {
        let wide = Mean { sum: 100.0, sum_of_squares: 5_000.0, count: 20 };
        let narrow = Mean { sum: 5.2e8, sum_of_squares: 2.9e9, count: 100_000_000 };
        let found = probabilities_to_be_greatest(&[wide, narrow]);
        let z = wide.z_above(narrow).unwrap();
        assert!((found[0] - normal_below(z)).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn without_amounts_there_is_no_result() {
        let none = Mean::default();
        assert_eq!(
            (none.p_value(of(&[1.0])), none.z_above(none), none.lift(none)),
            (None, None, None)
        );
        let alike = probabilities_to_be_greatest(&[none, none]);
        assert!((alike[0] - 0.5).abs() < 1e-9);
    }
}
