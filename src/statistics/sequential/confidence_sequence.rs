//! Confidence sequences: intervals that hold at all sample sizes together, for comparisons without a known end.
//!
//! The half width of a mean of N units with variance V a unit is √V·√(2(Nρ² + 1)/(N²ρ²)·ln(√(Nρ² + 1)/α)) (Waudby-Smith,
//! Arbour, Sinha, Kennedy, Ramdas, arXiv:2103.06476, equation 9). ρ makes it narrowest at a sample size that is chosen
//! before.

use crate::proportion::real;

/// The units of a difference so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceSequence {
    /// Number of units of both sides.
    pub units: u64,
    /// The variance of the difference, times the units.
    pub variance: f64,
    /// The sample size at which it is narrowest.
    pub narrowest_at: u64,
    /// The error it was chosen for, which fixes ρ.
    pub alpha: f64,
}

impl ConfidenceSequence {
    /// The half width of the interval with an error of `alpha` at all sample sizes together. None of no units.
    pub fn half_width(&self, alpha: f64) -> Option<f64> {
        if self.units == 0 || self.variance.is_nan() || alpha <= 0.0 {
            return None;
        }
        let n = real(self.units);
        let scaled = n * self.rho_squared() + 1.0;
        let half = (self.variance * 2.0 * scaled / (n * n * self.rho_squared())
            * (scaled.sqrt() / alpha).ln())
        .sqrt();
        half.is_finite().then_some(half)
    }

    /// The smallest error at which the interval around a difference excludes 0: 1 over the martingale of equation 155, at
    /// most 1. None of no units.
    pub fn p_value(&self, difference: f64) -> Option<f64> {
        if self.units == 0 || self.variance.is_nan() || self.variance <= 0.0 {
            return None;
        }
        let n = real(self.units);
        let scaled = n * self.rho_squared() + 1.0;
        let squared = difference * difference * n * n / self.variance;
        let ln = scaled.ln() / 2.0 - self.rho_squared() * squared / (2.0 * scaled);
        Some(ln.exp().min(1.0))
    }

    /// ρ² = (−2 ln α + ln(1 − 2 ln α)) / N*.
    fn rho_squared(&self) -> f64 {
        let ln = self.alpha.ln();
        (-2.0 * ln + (1.0 - 2.0 * ln).ln()) / real(self.narrowest_at.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(units: u64, narrowest_at: u64) -> ConfidenceSequence {
        ConfidenceSequence { units, variance: 0.64, narrowest_at, alpha: 0.05 }
    }

    #[test]
    fn half_widths_match_the_oracle() {
        let rows = include_str!("../oracles/confidence_sequence.csv").lines();
        let mut compared = 0;
        for row in rows.filter(|row| !row.starts_with('#')) {
            let numbers: Vec<f64> = row.split(',').map(|it| it.parse().unwrap()).collect();
            let [units, variance, narrowest_at, alpha, difference, half, p] = numbers[..] else {
                panic!("{row}")
            };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
            let sequence = ConfidenceSequence {
                units: units as u64,
                variance,
                narrowest_at: narrowest_at as u64,
                alpha,
            };
            let found = sequence.half_width(alpha).unwrap();
            assert!((found - half).abs() < 1e-9 * half.max(1.0), "{row}: {found}");
            let found = sequence.p_value(difference).unwrap();
            assert!((found - p).abs() < 1e-9, "{row}: {found}");
            compared += 1;
        }
        assert!(compared >= 20, "{compared}");
    }

    #[test]
    fn the_interval_is_narrowest_relative_to_a_single_look_at_the_chosen_size() {
        let relative = |units| {
            of(units, 5_000).half_width(0.05).unwrap()
                * f64::from(u32::try_from(units).unwrap()).sqrt()
        };
        let chosen = relative(5_000);
        assert!(relative(500) > chosen && relative(50_000) > chosen);
        assert!((relative(4_000) / chosen - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_p_value_is_the_error_at_which_0_is_excluded() {
        let sequence = of(5_000, 5_000);
        for difference in [0.02, 0.04, 0.06] {
            let p = sequence.p_value(difference).unwrap();
            assert!(sequence.half_width(p * 1.001).unwrap() < difference || p > 0.999);
            assert!(sequence.half_width(p * 0.999).unwrap() > difference);
        }
        assert_eq!(sequence.p_value(0.0), Some(1.0));
        assert_eq!(sequence.p_value(1e9), Some(0.0));
        assert_eq!(of(0, 100).p_value(1.0), None);
        assert!(of(10_000_000_000, 0).half_width(0.05).is_some_and(f64::is_finite));
    }
}
