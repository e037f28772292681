//! Integrals of smooth functions over pieces, by Gauss and Legendre's rule of sixteen points (Abramowitz and Stegun, table
//! 25.4). Ends of the pieces are where one of the functions changes fast, so that a narrow one beside a wide one is not missed.

/// Distances from the middle of a piece of half width 1, each on both sides, and their weights.
const POINTS: [Point; 8] = [
    point(0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    point(0.281_603_550_779_258_9, 0.182_603_415_044_923_6),
    point(0.458_016_777_657_227_4, 0.169_156_519_395_002_54),
    point(0.617_876_244_402_643_7, 0.149_595_988_816_576_73),
    point(0.755_404_408_355_003, 0.124_628_971_255_533_87),
    point(0.865_631_202_387_831_7, 0.095_158_511_682_492_78),
    point(0.944_575_023_073_232_6, 0.062_253_523_938_647_89),
    point(0.989_400_934_991_649_9, 0.027_152_459_411_754_095),
];

/// A point of the rule.
struct Point {
    distance: f64,
    weight: f64,
}

const fn point(distance: f64, weight: f64) -> Point {
    Point { distance, weight }
}

/// Standard deviations around a mean at which pieces end.
const DEVIATIONS: [f64; 7] = [0.0, 1.5, 3.0, 4.5, 6.5, 10.0, 27.0];

/// Where pieces end for a distribution of this mean and standard deviation.
pub(crate) fn ends(mean: f64, deviation: f64) -> impl Iterator<Item = f64> {
    DEVIATIONS.into_iter().flat_map(move |at| [mean - at * deviation, mean + at * deviation])
}

/// The integral of a function from `low` to `high`, in pieces that end at these points.
pub(crate) fn integral(low: f64, high: f64, ends: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut all: Vec<f64> = ends.iter().copied().filter(|end| *end > low && *end < high).collect();
    all.extend([low, high]);
    all.sort_by(f64::total_cmp);
    all.windows(2).map(|piece| integral_of_piece(piece[0], piece[1], &f)).sum()
}

/// A point of a rule over an interval, and what its value counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) at: f64,
    pub(crate) weight: f64,
}

/// The rule over an interval that is divided into so many equal pieces.
pub(crate) fn nodes(low: f64, high: f64, pieces: u32) -> Vec<Node> {
    let half = (high - low) / f64::from(pieces) / 2.0;
    let of_piece = |piece: u32| {
        let middle = low + half * f64::from(2 * piece + 1);
        let both = move |point: &Point| {
            [-1.0, 1.0].map(|side| Node {
                at: middle + side * point.distance * half,
                weight: point.weight * half,
            })
        };
        POINTS.iter().flat_map(both)
    };
    (0..pieces).flat_map(of_piece).collect()
}

fn integral_of_piece(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (middle, half) = (f64::midpoint(low, high), (high - low) / 2.0);
    let at = |Point { distance, weight }: &Point| {
        weight * (f(middle - distance * half) + f(middle + distance * half))
    };
    half * POINTS.iter().map(at).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_up_to_degree_31_are_exact() {
        let found = integral(0.0, 1.0, &[], |x| x.powi(31));
        assert!((found - 1.0 / 32.0).abs() < 1e-15, "{found}");
        let weights: f64 = POINTS.iter().map(|point| point.weight).sum();
        assert!((weights - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_narrow_peak_is_found_by_its_ends() {
        let density = |x: f64| {
            let z = (x - 0.3) / 1e-6;
            (-z * z / 2.0).exp() / (1e-6 * std::f64::consts::TAU.sqrt())
        };
        let at: Vec<f64> = ends(0.3, 1e-6).collect();
        let found = integral(0.0, 1.0, &at, density);
        assert!((found - 1.0).abs() < 1e-11, "{found}");
    }
}
