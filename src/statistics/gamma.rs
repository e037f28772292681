//! Tails of the normal distribution by `libm`, whose erfc is exact to the last digits, and of the chi-square
//! distribution by `statrs`.

use std::f64::consts::FRAC_1_SQRT_2;

use libm::erfc;
use statrs::function::gamma::gamma_ur;

/// The probability that a standard normal variate lies at least so far from 0, on either side.
pub fn two_sided(z: f64) -> f64 {
    erfc(z.abs() * FRAC_1_SQRT_2)
}

/// The probability that a standard normal variate lies below `z`.
pub fn normal_below(z: f64) -> f64 {
    erfc(-z * FRAC_1_SQRT_2) / 2.0
}

/// The probability that a chi-square variate of so many degrees of freedom is at least `x`.
pub fn chi_square_above(x: f64, degrees: u32) -> f64 {
    if x <= 0.0 {
        1.0
    } else if x.is_infinite() {
        0.0
    } else {
        gamma_ur(f64::from(degrees) / 2.0, x / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_probabilities_match_tables() {
        for (z, expected) in [
            (0.0, 1.0),
            (0.5, 0.617_075_077_451_973_9),
            (1.0, 0.317_310_507_862_914_1),
            (1.959_963_984_540_054, 0.05),
            (3.290_526_731_491_925_5, 0.001),
            (6.0, 1.973_175_290_075_396e-9),
        ] {
            let found = two_sided(z);
            assert!((found - expected).abs() < 1e-12_f64.max(expected * 1e-9), "{z}: {found}");
            assert!((two_sided(-z) - found).abs() < 1e-15);
        }
        assert!((normal_below(1.644_853_626_951_472_2) - 0.95).abs() < 1e-12);
        assert!((normal_below(-1.644_853_626_951_472_2) - 0.05).abs() < 1e-12);
    }

    #[test]
    fn chi_square_quantiles_match_tables() {
        for (x, degrees, expected) in [
            (3.841_458_820_694_124, 1, 0.05),
            (5.991_464_547_107_979, 2, 0.05),
            (14.067_140_449_340_169, 7, 0.05),
            (10.827_566_170_662_733, 1, 0.001),
        ] {
            let found = chi_square_above(x, degrees);
            assert!((found - expected).abs() < 1e-10, "{x} {degrees}: {found}");
        }
    }
}
