//! The normal distribution.

/// Where the middle of the distribution ends and its tails begin, as distance of p from 0.5.
const MIDDLE: f64 = 0.425;

/// The value below which a share `p` of a standard normal distribution lies: Wichura, Algorithm AS 241,
/// Applied Statistics 37 (1988), PPND16, its first two ranges. Exact to about 16 digits for
/// `p` between 1e-10 and 1 - 1e-10.
pub fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= MIDDLE {
        let r = MIDDLE * MIDDLE - q * q;
        return q * polynomial(&A, r) / polynomial(&B, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-tail.ln()).sqrt() - 1.6;
    (polynomial(&C, r) / polynomial(&D, r)).copysign(q)
}

/// The constant comes first.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum.mul_add(x, *coefficient))
}

const A: [f64; 8] = [
    3.387_132_872_796_366_5,
    133.141_667_891_784_38,
    1_971.590_950_306_551_3,
    13_731.693_765_509_46,
    45_921.953_931_549_87,
    67_265.770_927_008_7,
    33_430.575_583_588_13,
    2_509.080_928_730_122_7,
];
const B: [f64; 8] = [
    1.0,
    42.313_330_701_600_91,
    687.187_007_492_057_9,
    5_394.196_021_424_751,
    21_213.794_301_586_597,
    39_307.895_800_092_71,
    28_729.085_735_721_943,
    5_226.495_278_852_854,
];
const C: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    0.241_780_725_177_450_6,
    0.022_723_844_989_269_184,
    7.745_450_142_783_414e-4,
];
const D: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    0.689_767_334_985_1,
    0.148_103_976_427_480_08,
    0.015_198_666_563_616_457,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_9e-9,
];

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
