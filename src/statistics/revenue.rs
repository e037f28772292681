//! Comparison of the revenue of two groups of people of whom few pay, by studentised re-randomisation.
//!
//! Amounts are skewed, and a control group is small: the normal distribution is a poor guide then. If a campaign does
//! nothing, who pays how much would be the same had people been assigned otherwise. So they are assigned anew at random,
//! thousands of times, and the observed difference is placed among those that come out, each divided by its standard error
//! (Janssen, Stat. Probab. Lett. 36, 1997, 9-21; Chung and Romano, Ann. Stat. 41, 2013, 484-507).

use rand::{Rng, SeedableRng as _, rngs::StdRng};

use crate::{
    mean::Mean,
    proportion::{Interval, real},
};

/// Payers of both sides together above which the normal distribution is taken.
pub const PAYERS_MAX: usize = 20_000;
/// Payers that each side must have.
pub const PAYERS_MIN: usize = 10;
/// Assignments that are drawn; fewer of many payers.
const DRAWS_MAX: u32 = 9_999;
/// Fewest assignments that are drawn.
const DRAWS_MIN: u32 = 999;
/// Payers that are assigned in all draws together: a tenth of a second.
const ASSIGNED_MAX: u64 = 20_000_000;

/// The revenue of a group.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// What each person who paid has paid.
    pub amounts: &'a [f64],
    /// Number of people; those who did not pay included.
    pub people: u64,
}

impl Group<'_> {
    /// The mean revenue of a person.
    pub fn mean(&self) -> Mean {
        Mean {
            sum: self.amounts.iter().sum(),
            sum_of_squares: self.amounts.iter().map(|amount| amount * amount).sum(),
            count: self.people,
        }
    }
}

/// The random draws of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Draws {
    /// How many assignments are drawn.
    pub count: u32,
    /// Seed of the generator: the same seed gives the same result.
    pub seed: u64,
}

impl Draws {
    /// As many as this many payers allow.
    pub fn of(payers: usize, seed: u64) -> Self {
        let affordable = ASSIGNED_MAX / (payers as u64).max(1);
        let count = u32::try_from(affordable).unwrap_or(u32::MAX).clamp(DRAWS_MIN, DRAWS_MAX);
        Self { count, seed }
    }
}

/// The difference of the mean revenues of two groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Own mean less that of the base.
    pub value: f64,
    /// Where the difference lies with the confidence asked for.
    pub interval: Interval,
    /// How probable so great a difference, either way, would be if assignment changed nothing.
    pub p_value: f64,
}

/// Compares the mean revenues of two groups. None where one is empty or nothing varies.
pub fn difference(
    own: Group<'_>,
    base: Group<'_>,
    confidence: f64,
    draws: Draws,
) -> Option<Difference> {
    let (own_mean, base_mean) = (own.mean(), base.mean());
    let z = own_mean.z_above(base_mean).filter(|_| own.people > 0 && base.people > 0)?;
    let value = own_mean.value() - base_mean.value();
    if own.amounts.len() + base.amounts.len() > PAYERS_MAX {
        let interval = own_mean.difference(base_mean, confidence);
        return Some(Difference { value, interval, p_value: own_mean.p_value(base_mean)? });
    }
    let mut drawn = redraw(own, base, draws);
    let extreme = drawn.iter().filter(|other| other.abs() >= z.abs() * (1.0 - 1e-12)).count();
    let p_value = real(extreme as u64 + 1) / (f64::from(draws.count) + 1.0);
    drawn.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let error = (own_mean.variance() + base_mean.variance()).sqrt();
    // The interval of all differences that would not be refused: large draws upwards bound it below.
    let interval = Interval {
        lower: value - quantile(&drawn, 1.0 - tail) * error,
        upper: value - quantile(&drawn, tail) * error,
    };
    Some(Difference { value, interval, p_value })
}

/// The differences of random assignments of the same people, in standard errors.
fn redraw(own: Group<'_>, base: Group<'_>, draws: Draws) -> Vec<f64> {
    let mut random = StdRng::seed_from_u64(draws.seed);
    let amounts: Vec<f64> = own.amounts.iter().chain(base.amounts).copied().collect();
    let all = Group { amounts: &amounts, people: own.people + base.people }.mean();
    let assigned = (0..draws.count).map(|_| {
        let (mut sum, mut sum_of_squares) = (0.0, 0.0);
        // Each payer falls on the own side with the share of seats that are left there.
        let (mut seats, mut left) = (own.people, all.count);
        for amount in &amounts {
            if random.random_range(0..left) < seats {
                sum += amount;
                sum_of_squares += amount * amount;
                seats -= 1;
            }
            left -= 1;
        }
        let drawn = Mean { sum, sum_of_squares, count: own.people };
        let rest = Mean {
            sum: all.sum - sum,
            sum_of_squares: all.sum_of_squares - sum_of_squares,
            count: base.people,
        };
        drawn.z_above(rest).unwrap_or(0.0)
    });
    assigned.collect()
}

/// The value below which a share `p` of sorted values lies.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index among thousands"
    )]
    let at = (p * sorted.len() as f64) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// The amount above which amounts are cut to it: the 99.9th percentile of all payers' amounts. None of no payers.
pub fn cap(amounts: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = amounts.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| quantile(&sorted, CAPPED_ABOVE))
}

/// Share of the payers whose amounts stay as they are.
const CAPPED_ABOVE: f64 = 0.999;

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: Draws = Draws { count: 399, seed: 7 };

    /// Amounts of those of `people` who pay, 2 % of them: lognormal with this spread, times `factor`.
    fn group(random: &mut StdRng, people: u64, spread: f64, factor: f64) -> Vec<f64> {
        let mut amounts = Vec::new();
        for _ in 0..people {
            if random.random_bool(0.02) {
                let z = crate::normal::quantile(random.random_range(1e-12..1.0));
                amounts.push(factor * (spread * z).exp());
            }
        }
        amounts
    }

    /// A situation that is simulated.
    struct Situation {
        own: u64,
        base: u64,
        spread: f64,
        factor: f64,
        campaigns: u32,
    }

    /// Shares of the campaigns that are significant by re-randomisation, and by the normal distribution.
    struct Found {
        redrawn: f64,
        normal: f64,
    }

    fn simulate(of: &Situation) -> Found {
        let mut random = StdRng::seed_from_u64(20_261_124);
        let (mut redrawn, mut normal) = (0, 0);
        for seed in 0..of.campaigns {
            let own_amounts = group(&mut random, of.own, of.spread, of.factor);
            let base_amounts = group(&mut random, of.base, of.spread, 1.0);
            let own = Group { amounts: &own_amounts, people: of.own };
            let base = Group { amounts: &base_amounts, people: of.base };
            let draws = Draws { seed: u64::from(seed), ..FEW };
            let Some(found) = difference(own, base, 0.95, draws) else { continue };
            redrawn += u32::from(found.p_value < 0.05);
            normal += u32::from(own.mean().p_value(base.mean()).is_some_and(|p| p < 0.05));
        }
        let share = |count: u32| f64::from(count) / f64::from(of.campaigns);
        Found { redrawn: share(redrawn), normal: share(normal) }
    }

    /// The case in which the normal distribution reports an effect that is not there in one of five campaigns. Two
    /// standard deviations of 1,000 campaigns are 1.4 %.
    #[test]
    fn false_alarms_beside_a_small_control_group_are_one_in_twenty() {
        let of = Situation { own: 19_000, base: 1_000, spread: 1.5, factor: 1.0, campaigns: 1_000 };
        let found = simulate(&of);
        assert!((0.035..=0.065).contains(&found.redrawn), "{}", found.redrawn);
        assert!(found.normal > 0.12, "{}", found.normal);
    }

    #[test]
    fn effects_are_found_as_often_as_by_the_normal_distribution_at_equal_sides() {
        let of = Situation { own: 5_000, base: 5_000, spread: 1.0, factor: 1.5, campaigns: 300 };
        let found = simulate(&of);
        assert!(found.normal > 0.2, "{}", found.normal);
        assert!(found.redrawn > found.normal - 0.02, "{} {}", found.redrawn, found.normal);
    }

    #[test]
    fn effects_beside_a_small_control_group_are_found() {
        let of = Situation { own: 9_000, base: 1_000, spread: 0.7, factor: 1.3, campaigns: 400 };
        let found = simulate(&of);
        assert!(found.redrawn >= 0.10, "{}", found.redrawn);
    }

    #[test]
    fn the_interval_agrees_with_the_p_value_and_draws_repeat() {
        let mut random = StdRng::seed_from_u64(3);
        for _ in 0..40 {
            let own = group(&mut random, 2_000, 1.0, 1.6);
            let base = group(&mut random, 1_000, 1.0, 1.0);
            let (own, base) =
                (Group { amounts: &own, people: 2_000 }, Group { amounts: &base, people: 1_000 });
            let draws = Draws { count: 1_999, seed: 11 };
            let found = difference(own, base, 0.95, draws).unwrap();
            assert!(found.interval.lower < found.value && found.value < found.interval.upper);
            assert_eq!(difference(own, base, 0.95, draws), Some(found));
            // One counts both tails together, the other each by itself: near the border they may differ.
            let is_outside = found.interval.lower > 0.0 || found.interval.upper < 0.0;
            if !(0.01..0.12).contains(&found.p_value) {
                assert_eq!(is_outside, found.p_value < 0.05, "{found:?}");
            }
        }
    }

    #[test]
    fn without_payers_there_is_no_result() {
        let none = Group { amounts: &[], people: 10 };
        assert_eq!(difference(none, none, 0.95, FEW), None);
        let empty = Group { amounts: &[], people: 0 };
        assert_eq!(difference(Group { amounts: &[1.0], people: 5 }, empty, 0.95, FEW), None);
        let one = difference(Group { amounts: &[1.0], people: 1 }, none, 0.95, FEW);
        assert!(one.is_none_or(|found| found.p_value.is_finite()));
    }

    #[test]
    fn equal_groups_have_an_interval_around_nothing() {
        let amounts: Vec<f64> = (0..40).map(|n| f64::from(n % 5 + 1)).collect();
        let group = Group { amounts: &amounts, people: 100 };
        let found = difference(group, group, 0.95, FEW).unwrap();
        assert!(found.value.abs() < 1e-12 && (found.p_value - 1.0).abs() < 1e-12, "{found:?}");
        assert!(found.interval.lower < -0.1 && found.interval.upper > 0.1, "{found:?}");
    }

    #[test]
    fn many_payers_are_compared_by_the_normal_distribution() {
        let amounts: Vec<f64> = (0..15_000).map(|n| f64::from(n % 97)).collect();
        let own = Group { amounts: &amounts, people: 100_000 };
        let base = Group { amounts: &amounts[..10_000], people: 60_000 };
        let found = difference(own, base, 0.95, FEW).unwrap();
        assert_eq!(Some(found.p_value), own.mean().p_value(base.mean()));
    }

    #[test]
    fn many_payers_have_fewer_draws() {
        for (payers, count) in
            [(0, 9_999), (2_000, 9_999), (2_001, 9_995), (20_000, 1_000), (50_000, 999)]
        {
            assert_eq!(Draws::of(payers, 1).count, count, "{payers}");
        }
    }

    #[test]
    fn one_amount_in_a_thousand_is_capped() {
        let amounts = (1..=2_000).map(f64::from);
        assert_eq!(cap(amounts), Some(1_999.0));
        assert_eq!(cap([]), None);
    }
}
