//! Means of amounts of money, and how two of them compare: by the unequal-variance z of large samples.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use crate::{
    gamma::{normal_below, two_sided},
    normal,
    proportion::{Interval, deviations, real},
};

/// Draws of an expected loss.
const LOSS_DRAWS: u32 = 20_000;
/// Seed of these draws.
const LOSS_SEED: u64 = 20_261_124;

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
    fn variance(self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let n = real(self.count);
        let spread = (self.sum_of_squares - self.sum * self.sum / n).max(0.0);
        spread / (n - 1.0) / n
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

/// For each of several means the probability that it is the greatest, each taken for normally distributed:
/// an integral by Simpson's rule. They add up to 1.
pub fn probabilities_to_be_greatest(means: &[Mean]) -> Vec<f64> {
    const STEPS: u32 = 2_000;
    const DEVIATIONS: f64 = 8.0;
    let spread = |mean: &Mean| mean.variance().sqrt().max(mean.value().abs() * 1e-9).max(1e-12);
    let greatest = |own: usize, mean: &Mean| -> f64 {
        let step = 2.0 * DEVIATIONS / f64::from(STEPS);
        let sum: f64 = (0..=STEPS)
            .map(|at| {
                let z = -DEVIATIONS + step * f64::from(at);
                let x = mean.value() + z * spread(mean);
                let others = means.iter().enumerate().filter(|(place, _)| *place != own);
                let below: f64 = others
                    .map(|(_, other)| normal_below((x - other.value()) / spread(other)))
                    .product();
                let weight = match at {
                    0 | STEPS => 1.0,
                    odd if odd % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                weight * (-z * z / 2.0).exp() * below
            })
            .sum();
        sum * step / 3.0
    };
    let found: Vec<f64> = means.iter().enumerate().map(|(at, mean)| greatest(at, mean)).collect();
    let whole: f64 = found.iter().sum();
    found.into_iter().map(|part| if whole > 0.0 { part / whole } else { 0.0 }).collect()
}

/// For each of several means how much is lost on average if it is chosen: the expectation of what the greatest of the
/// others has more (Stucchio 2014), each taken for normally distributed. By draws of a fixed seed.
pub fn expected_losses(means: &[Mean]) -> Vec<f64> {
    let mut random = StdRng::seed_from_u64(LOSS_SEED);
    let mut normal = || normal::quantile(random.random_range(f64::EPSILON..1.0));
    let mut losses = vec![0.0; means.len()];
    for _ in 0..LOSS_DRAWS {
        let drawn: Vec<f64> =
            means.iter().map(|mean| mean.value() + normal() * mean.variance().sqrt()).collect();
        let greatest = drawn.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        losses.iter_mut().zip(&drawn).for_each(|(loss, own)| *loss += greatest - own);
    }
    losses.into_iter().map(|sum| sum / f64::from(LOSS_DRAWS)).collect()
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
        assert!((found[1] - normal_below(z)).abs() < 1e-6, "{found:?}");
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
