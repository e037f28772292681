//! This crate and `statrs` beside values of 40 digits (mpmath), so that each function is taken from where it is exact.

use statrs::function::{
    beta::beta_reg,
    erf::erfc_inv,
    gamma::{gamma_ur, ln_gamma},
};

use crate::{
    beta::Beta,
    gamma::{chi_square_above, two_sided},
    normal,
};

/// By how much of the true value another may be off.
fn error(found: f64, exact: f64) -> f64 {
    (found / exact - 1.0).abs()
}

#[test]
fn ln_gamma_of_the_library_is_exact() {
    for (x, exact) in [
        (0.5, 0.572_364_942_924_700_1),
        (2.5, 0.284_682_870_472_919_2),
        (10.0, 12.801_827_480_081_47),
        (123.4, 469.336_097_442_190_6),
        (1e4, 82_099.717_496_442_38),
        (1e6, 12_815_504.569_147_611),
        (1e8, 1_742_068_066.103_834_7),
    ] {
        assert!(error(ln_gamma(x), exact) < 1e-13, "{x}: {}", ln_gamma(x));
    }
}

#[test]
fn tails_of_normal_and_chi_square_are_exact() {
    for (z, exact) in [
        (0.5, 0.617_075_077_451_973_8),
        (1.96, 0.049_995_790_296_440_87),
        (3.0, 0.002_699_796_063_260_189),
        (6.0, 1.973_175_290_075_396e-9),
        (8.0, 1.244_192_114_854_356_8e-15),
    ] {
        assert!(error(two_sided(z), exact) < 1e-12, "{z}: {}", two_sided(z));
        assert!(error(gamma_ur(0.5, z * z / 2.0), exact) < 1e-9, "{z}");
    }
    for (x, degrees, exact) in [
        (3.0, 1, 0.083_264_516_663_550_4),
        (0.5, 5, 0.992_123_293_232_629_6),
        (100.0, 20, 1.259_608_459_166_090_8e-12),
        (30.0, 20, 0.069_853_660_699_409_77),
    ] {
        let found = chi_square_above(x, degrees);
        assert!(error(found, exact) < 1e-12, "{x} {degrees}: {found}");
    }
}

#[test]
fn normal_quantiles_are_exact() {
    for (p, exact) in [
        (1e-9, -5.997_807_015_007_687),
        (0.001, -3.090_232_306_167_813_5),
        (0.025, -1.959_963_984_540_054_2),
        (0.3, -0.524_400_512_708_040_8),
        (0.975, 1.959_963_984_540_053_9),
    ] {
        let found = normal::quantile(p);
        assert!(error(found, exact) < 1e-12, "{p}: {found}");
        assert!(error(-std::f64::consts::SQRT_2 * erfc_inv(2.0 * p), exact) < 1e-9, "{p}");
    }
}

/// A point of the incomplete beta function.
struct Point {
    alpha: f64,
    beta: f64,
    x: f64,
    exact: f64,
}

const fn point(alpha: f64, beta: f64, x: f64, exact: f64) -> Point {
    Point { alpha, beta, x, exact }
}

const POINTS: [Point; 14] = [
    point(2.0, 5.0, 0.125_995, 0.168_713_879_994_649),
    point(2.0, 5.0, 0.605_153, 0.961_363_957_688_106_9),
    point(30.0, 70.0, 0.163_205, 0.000_391_795_433_681_722_15),
    point(30.0, 70.0, 0.322_799, 0.697_978_277_799_623_4),
    point(201.0, 801.0, 0.162_666, 0.000_831_779_049_871_657),
    point(201.0, 801.0, 0.225_887, 0.974_780_418_415_220_6),
    point(5e3, 5e3, 0.485_001, 0.001_348_125_519_593_918_6),
    point(5e3, 5e3, 0.51, 0.977_257_967_675_425_5),
    point(100_001.0, 900_001.0, 0.099_100_798, 0.001_318_534_704_249_917_9),
    point(100_001.0, 900_001.0, 0.100_150_8, 0.691_696_676_520_743_2),
    point(100_001.0, 900_001.0, 0.100_600_8, 0.977_105_890_019_293_7),
    point(1_000_001.0, 9_000_001.0, 0.099_715_475, 0.001_339_949_590_244_464),
    point(1_000_001.0, 9_000_001.0, 0.100_047_51, 0.691_521_183_059_984_2),
    point(1_000_001.0, 9_000_001.0, 0.100_189_82, 0.977_206_240_664_965_8),
];

/// The library loses digits as the trials grow: three logarithms of large gamma functions cancel, and its fraction ends
/// after 140 terms, settled or not. Below a thousand trials it is as exact as this crate.
#[test]
fn the_incomplete_beta_function_is_exact_where_the_library_is_not() {
    let mut library_worst: f64 = 0.0;
    for Point { alpha, beta, x, exact } in POINTS {
        let (own, library) = (Beta { alpha, beta }.below(x), beta_reg(alpha, beta, x));
        assert!(error(own, exact) < 5e-12, "{alpha} {beta} {x}: {own}");
        library_worst = library_worst.max(error(library, exact));
        if alpha + beta < 1e3 {
            assert!(error(library, exact) < 1e-9, "{alpha} {beta} {x}: {library}");
        }
    }
    assert!(library_worst > 1e-9, "the library has become exact: take it ({library_worst:e})");
}
