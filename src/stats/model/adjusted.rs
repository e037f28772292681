//! Comparisons that are adjusted by what the same people did before they were assigned.

use std::collections::{HashMap, HashSet};

use statistics::{
    adjustment::{Adjustment, Group, Sums},
    proportion::Interval,
    revenue::{self, Draws},
};

use super::{comparison::Compare, outcome::PersonId};

/// A comparison of a variant with the baseline, adjusted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdjustedComparison {
    pub lift: Option<f64>,
    pub lift_interval: Option<Interval>,
    pub p_value: f64,
    /// The part of the difference's variance that the past explains.
    pub variance_reduction: f64,
}

/// Compares two sides, by their places in `groups`: how the past predicts the outcome is computed of all of them.
pub fn of_rates(
    groups: &[Group],
    own: usize,
    base: usize,
    confidence: f64,
) -> Option<AdjustedComparison> {
    let found = Adjustment::of(groups)?.compare(own, base, confidence)?;
    Some(AdjustedComparison {
        lift: found.lift,
        lift_interval: found.lift_interval,
        p_value: found.p_value,
        variance_reduction: found.variance_reduction,
    })
}

/// What the people of a side did, before and after.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// Number of people; of those who are in neither map both are 0.
    pub people: u64,
    pub before: HashMap<PersonId, f64>,
    pub after: HashMap<PersonId, f64>,
}

impl Side {
    /// Both values of each person with one other than 0, in an order that does not change.
    fn pairs(&self) -> Vec<Pair> {
        let people: HashSet<&PersonId> = self.before.keys().chain(self.after.keys()).collect();
        let of = |map: &HashMap<PersonId, f64>, person| map.get(person).copied().unwrap_or(0.0);
        let mut pairs: Vec<Pair> = people
            .into_iter()
            .map(|person| Pair { before: of(&self.before, person), after: of(&self.after, person) })
            .collect();
        pairs.sort_by(|one, other| {
            one.after.total_cmp(&other.after).then(one.before.total_cmp(&other.before))
        });
        pairs
    }

    /// Sums over its people.
    pub fn group(&self) -> Group {
        let mut sums = Sums { people: self.people, ..Sums::default() };
        for Pair { before, after } in self.pairs() {
            sums.x += before;
            sums.y += after;
            sums.xx += before * before;
            sums.yy += after * after;
            sums.xy += before * after;
        }
        Group { known: sums.by_person(), unknown: Sums::default() }
    }
}

#[derive(Debug, Clone, Copy)]
struct Pair {
    before: f64,
    after: f64,
}

/// Compares the mean amounts of two sides: what is left of each person's amount is assigned anew at random, as amounts
/// without an adjustment are.
pub fn of_amounts(
    sides: &[Side],
    own: usize,
    base: usize,
    rules: Compare,
) -> Option<AdjustedComparison> {
    let groups: Vec<Group> = sides.iter().map(Side::group).collect();
    let adjustment = Adjustment::of(&groups)?;
    let variance_reduction = adjustment.compare(own, base, rules.confidence)?.variance_reduction;
    let rests = |side: &Side| -> Vec<f64> {
        side.pairs().iter().map(|pair| adjustment.rest(pair.after, pair.before)).collect()
    };
    let (own_rests, base_rests) = (rests(&sides[own]), rests(&sides[base]));
    let found = revenue::difference(
        revenue::Group { amounts: &own_rests, people: sides[own].people },
        revenue::Group { amounts: &base_rests, people: sides[base].people },
        rules.confidence,
        Draws::of(own_rests.len() + base_rests.len(), rules.seed),
    )?;
    let mean = adjustment.mean(base).filter(|mean| *mean > 0.0);
    Some(AdjustedComparison {
        lift: mean.map(|mean| found.value / mean),
        lift_interval: mean.map(|mean| Interval {
            lower: found.interval.lower / mean,
            upper: found.interval.upper / mean,
        }),
        p_value: found.p_value,
        variance_reduction,
    })
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

    use super::*;

    const RULES: Compare = Compare { confidence: 0.95, seed: 7 };

    /// People of whom a tenth buys, most of them those who bought before.
    fn side(random: &mut StdRng, people: u64, factor: f64) -> Side {
        let mut side = Side { people, ..Side::default() };
        for number in 0..people {
            let mut person = PersonId::default();
            person[..8].copy_from_slice(&number.to_be_bytes());
            let habit = if number % 10 == 0 { random.random_range(20.0..60.0) } else { 0.0 };
            let mut amount = |factor: f64| {
                let amount = habit * factor * random.random_range(0.8..1.2);
                (random.random_bool(0.8) && amount > 0.0).then_some(amount)
            };
            side.before.extend(amount(1.0).map(|amount| (person, amount)));
            side.after.extend(amount(factor).map(|amount| (person, amount)));
        }
        side
    }

    #[test]
    fn amounts_are_adjusted_and_draws_repeat() {
        let mut random = StdRng::seed_from_u64(20_261_124);
        let sides = [side(&mut random, 2_000, 1.0), side(&mut random, 2_000, 1.15)];
        let found = of_amounts(&sides, 1, 0, RULES).unwrap();
        assert_eq!(of_amounts(&sides, 1, 0, RULES), Some(found));
        assert!(found.variance_reduction > 0.4, "{found:?}");
        let interval = found.lift_interval.unwrap();
        assert!(interval.lower < found.lift.unwrap() && found.lift.unwrap() < interval.upper);
        let absent = [Side { before: HashMap::new(), ..sides[0].clone() }, Side::default()];
        assert_eq!(of_amounts(&absent, 1, 0, RULES), None, "no one bought before");
    }

    /// Two standard deviations of 400 campaigns are 2.2 %.
    #[test]
    fn adjusted_amounts_of_equal_sides_differ_in_one_of_twenty_campaigns() {
        let mut random = StdRng::seed_from_u64(20_261_124);
        let mut significant = 0;
        for _ in 0..400 {
            let sides = [side(&mut random, 300, 1.0), side(&mut random, 300, 1.0)];
            let found = of_amounts(&sides, 1, 0, RULES).unwrap();
            significant += u32::from(found.p_value < 0.05);
        }
        assert!((11..=29).contains(&significant), "{significant}");
    }

    #[test]
    fn sums_are_of_all_people() {
        let id = |number: u8| [number; 12];
        let side = Side {
            people: 10,
            before: HashMap::from([(id(1), 2.0), (id(2), 1.0)]),
            after: HashMap::from([(id(2), 3.0), (id(3), 1.0)]),
        };
        let sums = side.group().known;
        assert_eq!(sums.people, 10);
        for (found, expected) in [
            (sums.x, 3.0),
            (sums.y, 4.0),
            (sums.m, 10.0),
            (sums.xx, 5.0),
            (sums.yy, 10.0),
            (sums.xy, 3.0),
            (sums.ym, 4.0),
        ] {
            assert!((found - expected).abs() < 1e-12, "{sums:?}");
        }
    }
}
