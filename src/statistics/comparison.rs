//! Our own functions beside those of `statrs`, on a grid.

use statrs::{
    distribution::{ContinuousCDF as _, Normal},
    function::{
        beta::beta_reg,
        gamma::{gamma_ur, ln_gamma as statrs_ln_gamma},
    },
};

use crate::{
    beta::{Beta, ln_gamma},
    gamma::{chi_square_above, two_sided},
    normal,
};

const NEAR: f64 = 1e-9;

fn is_near(own: f64, other: f64) -> bool {
    (own - other).abs() <= NEAR * own.abs().max(other.abs()).max(1e-12)
}

#[test]
fn ln_gamma_agrees() {
    for x in [0.5, 0.75, 1.5, 2.5, 3.0, 10.0, 123.4, 1e4, 1e6, 1e8] {
        assert!(is_near(ln_gamma(x), statrs_ln_gamma(x)), "{x}");
    }
}

#[test]
fn tails_of_normal_and_chi_square_agree() {
    for step in 0..=80 {
        let z = f64::from(step) / 10.0;
        let (own, other) = (two_sided(z), if z > 0.0 { gamma_ur(0.5, z * z / 2.0) } else { 1.0 });
        assert!(is_near(own, other), "{z}: {own} {other}");
    }
    for degrees in 1..=20 {
        for x in [0.01, 0.5, 1.0, 3.0, 10.0, 30.0, 100.0] {
            let own = chi_square_above(x, degrees);
            let other = gamma_ur(f64::from(degrees) / 2.0, x / 2.0);
            assert!(is_near(own, other), "{x} {degrees}: {own} {other}");
        }
    }
}

#[test]
fn normal_quantiles_agree() {
    let standard = Normal::new(0.0, 1.0).unwrap();
    for p in [1e-9, 1e-6, 0.001, 0.025, 0.1, 0.3, 0.49, 0.6, 0.8, 0.975, 0.9995] {
        let (own, other) = (normal::quantile(p), standard.inverse_cdf(p));
        assert!(is_near(own, other), "{p}: {own} {other}");
    }
}

/// Up to ten thousand trials: at a million the two differ by 2e-9 in parts of the value.
#[test]
fn the_incomplete_beta_function_agrees() {
    for (alpha, beta) in [(1.0, 1.0), (2.0, 5.0), (30.0, 70.0), (201.0, 801.0), (5e3, 5e3)] {
        let rate = Beta { alpha, beta };
        let spread = (rate.mean() * (1.0 - rate.mean()) / (alpha + beta + 1.0)).sqrt();
        for z in [-3.0, -1.0, 0.0, 0.5, 2.0] {
            let x = rate.mean() + z * spread;
            if x <= 0.0 || x >= 1.0 {
                continue;
            }
            let (own, other) = (rate.below(x), beta_reg(alpha, beta, x));
            assert!(is_near(own, other), "{alpha} {beta} {x}: {own} {other}");
        }
    }
}
