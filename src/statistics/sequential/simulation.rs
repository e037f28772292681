//! Simulated comparisons, looked at again and again while people come in.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use super::{
    confidence_sequence::ConfidenceSequence,
    division::{self, Division},
    group::{self, InterimLook},
};
use crate::proportion::{Proportion, real};

const ALPHA: f64 = 0.05;
const LOOKS: u32 = 16;

/// Counts of successes: normal beyond a thousand trials would do, but sums of single trials are exact.
fn successes(trials: u64, rate: f64, random: &mut StdRng) -> u64 {
    let mut count = 0;
    for _ in 0..trials {
        count += u64::from(random.random::<f64>() < rate);
    }
    count
}

/// Both sides at each look.
fn grow(per_arm: u64, rates: [f64; 2], random: &mut StdRng) -> Vec<[Proportion; 2]> {
    let mut sides = [Proportion { successes: 0, trials: 0 }; 2];
    let each = per_arm / u64::from(LOOKS);
    (0..LOOKS)
        .map(|_| {
            for (side, rate) in sides.iter_mut().zip(rates) {
                side.successes += successes(each, rate, random);
                side.trials += each;
            }
            sides
        })
        .collect()
}

/// The looks at two sides that grow at the same pace.
fn group_looks(looks: &[[Proportion; 2]]) -> Vec<InterimLook> {
    let of = |(at, [base, own]): (u32, &[Proportion; 2])| InterimLook {
        time: f64::from(at) / f64::from(LOOKS),
        information: real(own.successes + base.successes),
        z: own.z_above(*base).unwrap_or(0.0),
    };
    (1..=LOOKS).zip(looks).map(of).collect()
}

/// Whether a bound was reached, where the information grows evenly: the bounds are the same for all campaigns then.
fn is_found_by_group(looks: &[[Proportion; 2]], even_bounds: &[f64]) -> bool {
    group_looks(looks).iter().zip(even_bounds).any(|(look, bound)| look.z.abs() >= *bound)
}

fn even_bounds() -> Vec<f64> {
    let of = |at: u32| {
        let time = f64::from(at) / f64::from(LOOKS);
        InterimLook { time, information: time, z: 0.0 }
    };
    group::bounds(ALPHA, &(1..=LOOKS).map(of).collect::<Vec<_>>())
}

fn is_found_by_sequence(looks: &[[Proportion; 2]]) -> bool {
    looks.iter().any(|[base, own]| {
        let units = own.trials + base.trials;
        let variance = |side: &Proportion| side.rate() * (1.0 - side.rate()) / real(side.trials);
        let sequence = ConfidenceSequence {
            units,
            variance: (variance(own) + variance(base)) * real(units),
            narrowest_at: 5_000,
            alpha: ALPHA,
        };
        let difference = own.rate() - base.rate();
        sequence.half_width(ALPHA).is_some_and(|half| difference.abs() > half)
    })
}

/// Shares of the campaigns in which each method finds a difference at some look.
#[derive(Debug)]
struct Found {
    group: f64,
    sequence: f64,
}

fn found(campaigns: u32, per_arm: u64, rates: [f64; 2]) -> Found {
    let mut random = StdRng::seed_from_u64(per_arm);
    let (mut group, mut sequence) = (0, 0);
    let even_bounds = even_bounds();
    for _ in 0..campaigns {
        let looks = grow(per_arm, rates, &mut random);
        group += u32::from(is_found_by_group(&looks, &even_bounds));
        sequence += u32::from(is_found_by_sequence(&looks));
    }
    let share = |count| f64::from(count) / f64::from(campaigns);
    Found { group: share(group), sequence: share(sequence) }
}

#[test]
fn equal_variants_are_rarely_called_different_at_any_look() {
    for (campaigns, per_arm) in [(10_000, 2_000), (4_000, 10_000)] {
        let found = found(campaigns, per_arm, [0.2, 0.2]);
        // Within about three standard errors of 5 %, and below.
        assert!((0.035..=0.06).contains(&found.group), "{per_arm}: {found:?}");
        assert!(found.sequence <= 0.055, "{per_arm}: {found:?}");
    }
}

/// The information that was seen instead of what was to be expected moves bounds hardly.
#[test]
fn bounds_by_the_information_seen_decide_as_those_by_the_expected() {
    let mut random = StdRng::seed_from_u64(3);
    let even_bounds = even_bounds();
    let (mut found, mut differ) = (0, 0);
    for _ in 0..200 {
        let looks = grow(2_000, [0.2, 0.235], &mut random);
        let by_expected = is_found_by_group(&looks, &even_bounds);
        found += u32::from(by_expected);
        differ += u32::from(group::is_crossed(ALPHA, &group_looks(&looks)) != by_expected);
    }
    assert!(found > 80 && differ <= 6, "{differ} of {found}");
}

#[test]
fn a_lift_of_a_tenth_is_found_as_by_a_single_look() {
    let (few, many) = (found(2_000, 2_000, [0.2, 0.22]), found(1_000, 10_000, [0.2, 0.22]));
    assert!(few.group >= 0.27 && few.sequence >= 0.10, "{few:?}");
    assert!(many.group >= 0.87 && many.sequence >= 0.60, "{many:?}");
}

/// Divisions of people by weights that are right or wrong, looked at thirty times: the share that is called wrong.
fn called_wrong(campaigns: u32, people: u64, share: f64) -> f64 {
    let mut random = StdRng::seed_from_u64(people);
    let mut wrong = 0;
    for _ in 0..campaigns {
        let (mut first, mut least) = (0, 1.0_f64);
        for look in 1..=30 {
            first += successes(people / 30, share, &mut random);
            let counts = [first, look * (people / 30) - first];
            let found = division::p_value(&[Division { counts: &counts, weights: &[1.0, 1.0] }]);
            least = least.min(found.unwrap());
        }
        wrong += u32::from(least < 0.001);
    }
    f64::from(wrong) / f64::from(campaigns)
}

#[test]
fn a_right_division_is_hardly_ever_called_wrong_and_a_wrong_one_nearly_always() {
    assert!(called_wrong(10_000, 3_000, 0.5) <= 0.001);
    assert!(called_wrong(300, 20_010, 0.52) >= 0.95);
}
