//! Group sequential tests: a few looks at data whose end is known.
//!
//! Each look spends a part of the error, by the share of the time that is over (Lan and DeMets, Biometrika 70, 1983; by
//! calendar time: Lan and DeMets, Stat. Med. 8, 1989), little at first (O'Brien and Fleming's shape). Bounds follow by the
//! recursion of Armitage, McPherson and Rowe (J. R. Stat. Soc. A 132, 1969), as in Jennison and Turnbull, Group
//! Sequential Methods, 2000, chapter 19.

use crate::{
    gamma::{normal_below, two_sided},
    normal,
    quadrature::{Node, nodes},
};

/// Looks at one comparison: one at each sixteenth of the time.
pub const LOOKS_MAX: u32 = 16;
/// Bounds above this are never crossed.
const BOUND_MAX: f64 = 8.0;
/// The distribution is followed so many standard deviations around 0: beyond there is less than 1e-14 of it.
const FOLLOWED: f64 = 8.0;
/// Least growth of the information between two looks, in parts: looks nearer to each other count as so far apart, which
/// makes bounds higher and never lower.
const GROWTH_MIN: f64 = 1.03;
/// Pieces of each integral.
const PIECES: u32 = 9;
/// Halvings in the search for a bound.
const HALVINGS: u32 = 40;
/// Halvings in the search for a p-value, which is exact to its thousandth part.
const P_HALVINGS: u32 = 34;
/// Smallest p-value that is searched for.
const P_MIN: f64 = 1e-10;

/// One look at a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InterimLook {
    /// Share of the time that is over, above 0 and at most 1, rising from look to look.
    pub time: f64,
    /// What has been seen, in any unit: the variance of the sum that is compared. Rising from look to look.
    pub information: f64,
    /// The difference in standard deviations.
    pub z: f64,
}

/// Whether another look may be taken: a sixteenth of the time after the last, or at the end.
pub fn is_due(last: Option<f64>, time: f64) -> bool {
    let last = last.unwrap_or(0.0);
    last < 1.0 && (time >= 1.0 || time - last >= 1.0 / f64::from(LOOKS_MAX) - 1e-9)
}

/// The part of a two-sided error `alpha` that is spent when a share of the time is over: 2 − 2Φ(z(α/4)/√t) on each side,
/// which is Lan and DeMets' function of an error of α/2.
pub fn spent(alpha: f64, time: f64) -> f64 {
    if time <= 0.0 {
        return 0.0;
    }
    2.0 * two_sided(normal::quantile(alpha / 4.0) / time.min(1.0).sqrt())
}

/// The bound of |z| at each look: the difference is significant where it is reached.
pub fn bounds(alpha: f64, looks: &[InterimLook]) -> Vec<f64> {
    let mut walk = Walk::default();
    let mut before = 0.0;
    let each = looks.iter().map(|look| {
        let until_now = spent(alpha, look.time);
        let bound = walk.step(look.information, until_now - before);
        before = until_now;
        bound
    });
    each.collect()
}

/// Whether the bound was reached at any look.
pub fn is_crossed(alpha: f64, looks: &[InterimLook]) -> bool {
    looks.iter().zip(bounds(alpha, looks)).any(|(look, bound)| look.z.abs() >= bound)
}

/// The smallest two-sided error at which the bound would have been reached at one of the looks. 1 without looks.
pub fn p_value(looks: &[InterimLook]) -> f64 {
    let (mut low, mut high) = (P_MIN, 1.0 - 1e-9);
    if looks.is_empty() || !is_crossed(high, looks) {
        return 1.0;
    }
    if is_crossed(low, looks) {
        return low;
    }
    for _ in 0..P_HALVINGS {
        let middle = (low * high).sqrt();
        if is_crossed(middle, looks) { high = middle } else { low = middle }
    }
    high
}

/// The distribution of the sum of what was seen, where no bound was reached so far.
#[derive(Debug, Default)]
struct Walk {
    information: f64,
    /// Points, weighted by the density there. Empty before the first look.
    density: Vec<Node>,
}

impl Walk {
    /// The bound at which a look at this information spends so much, in standard deviations.
    fn step(&mut self, information: f64, spends: f64) -> f64 {
        let least = self.information * GROWTH_MIN;
        let information = information.max(least).max(f64::MIN_POSITIVE);
        let deviation = information.sqrt();
        let step = (information - self.information).sqrt();
        let beyond = |bound: f64| self.beyond(bound * deviation, step);
        let (mut low, mut high) = (0.0, BOUND_MAX);
        if beyond(high) < spends {
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(low, high);
                if beyond(middle) > spends { low = middle } else { high = middle }
            }
        }
        let bound = high;
        let range = bound.min(FOLLOWED) * deviation;
        let followed = nodes(-range, range, PIECES)
            .into_iter()
            .map(|node| Node { weight: node.weight * self.density_at(node.at, step), ..node });
        (self.density, self.information) = (followed.collect(), information);
        bound
    }

    /// The probability that the sum lies beyond `end` on either side after a step.
    fn beyond(&self, end: f64, step: f64) -> f64 {
        let from =
            |start: f64| normal_below((start - end) / step) + normal_below((-end - start) / step);
        if self.density.is_empty() {
            return from(0.0);
        }
        self.density.iter().map(|node| node.weight * from(node.at)).sum()
    }

    /// The density of the sum after a step.
    fn density_at(&self, at: f64, step: f64) -> f64 {
        let scale = 1.0 / (step * std::f64::consts::TAU.sqrt());
        let from = |start: f64| {
            let z = (at - start) / step;
            scale * (-z * z / 2.0).exp()
        };
        if self.density.is_empty() {
            return from(0.0);
        }
        self.density.iter().map(|node| node.weight * from(node.at)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equal(looks: u32, z: f64) -> Vec<InterimLook> {
        let at = |look| f64::from(look) / f64::from(looks);
        (1..=looks).map(|look| InterimLook { time: at(look), information: at(look), z }).collect()
    }

    /// Five equal looks, two-sided 0.05: what the R packages ldbounds and gsDesign (`sfLDOF`) print.
    #[test]
    fn bounds_are_the_published_ones() {
        let found = bounds(0.05, &equal(5, 0.0));
        for (found, expected) in found.iter().zip([4.8769, 3.3569, 2.6803, 2.2898, 2.0310]) {
            assert!((found - expected).abs() < 2e-4, "{found} {expected}");
        }
        assert!((bounds(0.05, &equal(1, 0.0))[0] - 1.959_964).abs() < 1e-6);
    }

    #[test]
    fn bounds_match_the_oracle() {
        let rows = include_str!("../oracles/group_sequential.csv").lines();
        let mut compared = 0;
        for row in rows.filter(|row| !row.starts_with('#')) {
            let numbers: Vec<f64> = row.split(',').map(|it| it.parse().unwrap()).collect();
            let (alpha, rest) = (numbers[0], &numbers[1..]);
            let count = rest.len() / 3;
            let looks: Vec<InterimLook> = (0..count)
                .map(|at| InterimLook { time: rest[at], information: rest[count + at], z: 0.0 })
                .collect();
            for (found, expected) in bounds(alpha, &looks).iter().zip(&rest[2 * count..]) {
                assert!((found - expected).abs() < 1e-6, "{row}: {found} {expected}");
                compared += 1;
            }
        }
        assert!(compared >= 30, "{compared}");
    }

    #[test]
    fn a_p_value_is_the_error_at_which_a_bound_is_reached() {
        for z in [0.0, 1.0, 2.0, 2.5, 3.5] {
            let looks = equal(4, z);
            let p = p_value(&looks);
            assert!(p > 0.999 || is_crossed(p * 1.001, &looks) && !is_crossed(p * 0.999, &looks));
        }
        let once = [InterimLook { time: 1.0, information: 1.0, z: 1.959_964 }];
        assert!((p_value(&once) - 0.05).abs() < 1e-5);
        assert!((p_value(&[]) - 1.0).abs() < f64::EPSILON);
        // Looking again where nothing came in finds nothing new.
        let mut looks = equal(2, 2.3);
        let before = p_value(&looks);
        looks.insert(1, InterimLook { time: 0.6, ..looks[0] });
        assert!(p_value(&looks) >= before * 0.7);
    }

    #[test]
    fn looks_are_a_sixteenth_apart() {
        assert!(!is_due(None, 0.0) && !is_due(None, 0.06) && is_due(None, 0.0625));
        assert!(!is_due(Some(0.5), 0.55) && is_due(Some(0.5), 0.5625));
        assert!(is_due(Some(0.99), 1.0) && !is_due(Some(1.0), 1.0));
    }

    #[test]
    fn odd_looks_give_numbers() {
        for looks in [
            vec![InterimLook { time: 1e-9, information: 0.0, z: 0.0 }],
            vec![
                InterimLook { time: 0.5, information: 1e10, z: 40.0 },
                InterimLook { time: 1.0, information: 1e10, z: 40.0 },
            ],
        ] {
            assert!(bounds(0.05, &looks).iter().all(|bound| bound.is_finite()));
            assert!(p_value(&looks).is_finite());
        }
    }
}
