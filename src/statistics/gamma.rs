//! Tails of the normal and the chi-square distribution, by the incomplete gamma function.

use crate::beta::ln_gamma;

/// Terms after which a series or fraction has long settled.
const TERMS_MAX: u32 = 10_000;
/// Change below which it has.
const SETTLED: f64 = 1e-16;
/// Stands for zero where one divides.
const TINY: f64 = 1e-300;

/// The regularised upper incomplete gamma function Q(a, x) for `a` > 0 and `x` >= 0: by the series of DLMF
/// 8.7.1 below its middle, by the continued fraction of DLMF 8.9.2 in the form of Lentz above.
#[expect(clippy::many_single_char_names, reason = "the names of the formulas")]
fn upper(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        for _ in 0..TERMS_MAX {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * SETTLED {
                break;
            }
        }
        return 1.0 - front * sum;
    }
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / TINY, 1.0 / b);
    let mut value = d;
    for n in 1..TERMS_MAX {
        let n = f64::from(n);
        let factor = -n * (n - a);
        b += 2.0;
        let next = factor * d + b;
        d = 1.0 / if next.abs() < TINY { TINY } else { next };
        c = b + factor / c;
        c = if c.abs() < TINY { TINY } else { c };
        value *= c * d;
        if (c * d - 1.0).abs() < SETTLED * 10.0 {
            break;
        }
    }
    front * value
}

/// The probability that a standard normal variate lies at least so far from 0, on either side.
pub fn two_sided(z: f64) -> f64 {
    upper(0.5, z * z / 2.0)
}

/// The probability that a standard normal variate lies below `z`.
pub fn normal_below(z: f64) -> f64 {
    let tail = two_sided(z) / 2.0;
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// The probability that a chi-square variate of so many degrees of freedom is at least `x`.
pub fn chi_square_above(x: f64, degrees: u32) -> f64 {
    upper(f64::from(degrees) / 2.0, x / 2.0)
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
