//! The normal distribution.

use std::f64::consts::SQRT_2;

use statrs::function::erf::erfc_inv;

/// The value below which a share `p` of a standard normal distribution lies.
pub fn quantile(p: f64) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the tables that every textbook has, to more digits (computed with 50 digits).
    #[test]
    fn normal_quantiles_match_tables() {
        let table = [
            (0.5, 0.0),
            (0.8, 0.841_621_233_572_914_3),
            (0.9, 1.281_551_565_544_600_4),
            (0.95, 1.644_853_626_951_472_2),
            (0.975, 1.959_963_984_540_054),
            (0.9995, 3.290_526_731_491_925_5),
            (0.01, -2.326_347_874_040_841),
            (1e-9, -5.997_807_015_007_686),
        ];
        for (p, expected) in table {
            assert!((quantile(p) - expected).abs() < 1e-12, "{p}: {}", quantile(p));
        }
    }
}
