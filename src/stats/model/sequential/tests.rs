//! Looks at growing samples, and what they say together.

use std::collections::BTreeMap;

use campaigns::model::trial::{Phase, TrialLook};
use kernel::Timestamp;
use statistics::proportion::Proportion;

use super::*;

fn rate(successes: u64, trials: u64) -> Measure {
    Measure::Rate(Proportion { successes, trials })
}

fn rules(comparisons: usize) -> SequentialRules {
    SequentialRules { compare: Compare { confidence: 0.95, seed: 1 }, comparisons }
}

/// A test with these looks at variant `b`: the share of its time, and successes of 1,000 in each variant.
fn tested(looks: &[(f64, u64, u64)], comparisons: usize) -> Trial {
    let mut trial = Trial {
        phase: Phase::Testing,
        winner_variant_id: None,
        round: 1,
        previous_winner_variant_id: None,
        began_at: None,
        after_occurrence: 0,
        looks: Vec::new(),
        verdict: None,
    };
    let mut before = Vec::new();
    for (time, base, own) in looks {
        let own = rate(*own, 1000);
        let result = look(&own, &rate(*base, 1000), &before, *time, &rules(comparisons));
        let Some(result) = result else { continue };
        before.push(InterimLook { time: *time, information: result.information, z: result.z });
        let variants = BTreeMap::from([("b".to_owned(), result)]);
        let at = Timestamp::from_millis(0);
        trial.looks.push(TrialLook { at, time: *time, variants });
    }
    trial
}

#[test]
fn an_early_look_asks_for_more_and_the_last_for_little_more_than_a_single_one() {
    let found = |looks: &[(f64, u64, u64)]| by_looks(&tested(looks, 1), "b", &rules(1));
    // The same difference, z 2.66: at a quarter of the time, and at the end.
    let early = found(&[(0.25, 200, 250)]);
    assert!(!early.is_significant && early.boundary.unwrap() > 4.0, "{early:?}");
    assert!(early.interval.is_some_and(|lift| lift.lower < 0.0 && lift.upper > 0.25), "{early:?}");
    assert!(!early.is_final && early.information_fraction == Some(0.25));
    let end = found(&[(0.25, 50, 55), (0.5, 110, 120), (1.0, 200, 250)]);
    assert!(end.is_significant && end.is_final, "{end:?}");
    assert!((1.96..2.05).contains(&end.boundary.unwrap()), "{end:?}");
    assert!(end.interval.is_some_and(|lift| lift.lower > 0.0), "{end:?}");
    // A single look at the end is the usual test.
    let once = found(&[(1.0, 200, 250)]);
    assert!((once.boundary.unwrap() - 1.96).abs() < 1e-3, "{once:?}");
}

#[test]
fn a_boundary_that_was_reached_once_stays_reached() {
    let looks = [(0.5, 200, 280), (1.0, 270, 280)];
    let found = by_looks(&tested(&looks, 1), "b", &rules(1));
    assert!(found.is_significant && found.p_value.unwrap() < 0.01, "{found:?}");
}

#[test]
fn several_comparisons_share_the_error() {
    let looks = [(0.5, 100, 120), (1.0, 200, 240)];
    let alone = by_looks(&tested(&looks, 1), "b", &rules(1));
    let four = by_looks(&tested(&looks, 4), "b", &rules(4));
    assert!(alone.is_significant && !four.is_significant, "{alone:?} {four:?}");
    assert!(four.boundary > alone.boundary);
    assert!((four.p_value.unwrap() / alone.p_value.unwrap() - 4.0).abs() < 1e-6);
}

#[test]
fn without_looks_nothing_is_significant() {
    let found = by_looks(&tested(&[], 1), "b", &rules(1));
    assert_eq!((found.p_value, found.is_significant, found.is_final), (None, false, false));
    // Too few for a comparison.
    assert_eq!(look(&rate(3, 10), &rate(1, 10), &[], 0.5, &rules(1)), None);
    assert_eq!(look(&rate(3, 1000), &rate(1, 1000), &[], 0.5, &rules(1)), None);
}

#[test]
fn what_was_seen_grows_with_recipients_and_with_their_answers() {
    let of = |successes, trials| information(&rate(successes, trials), &rate(successes, trials));
    assert!(of(200, 1000) > of(100, 1000), "later opens of the same messages");
    assert!((of(200, 2000) / of(100, 1000) - 2.0).abs() < 1e-9, "more messages");
    assert!(of(990, 1000) > of(500, 1000));
    assert!(of(1000, 1000).is_finite() && of(0, 0).abs() < f64::EPSILON);
}

#[test]
fn a_sequence_is_wider_than_a_single_look_and_holds_without_an_end() {
    let (own, base) = (rate(2_200, 10_000), rate(2_000, 10_000));
    let found = by_sequence(&own, &base, 2_188, &rules(1));
    let single = own.against(&base, rules(1).compare);
    let (wide, narrow) = (found.interval.unwrap(), single.lift_interval.unwrap());
    assert!(wide.lower < narrow.lower && wide.upper > narrow.upper, "{wide:?} {narrow:?}");
    assert!(found.is_significant && found.p_value.unwrap() > single.p_value.unwrap());
    assert!(found.boundary.is_some_and(|boundary| (2.5..4.0).contains(&boundary)), "{found:?}");
    let none = by_sequence(&rate(0, 0), &base, 2_188, &rules(1));
    assert_eq!((none.p_value, none.interval, none.is_significant), (None, None, false));
    let alike = by_sequence(&rate(0, 50), &rate(0, 50), 2_188, &rules(1));
    assert_eq!((alike.p_value, alike.interval), (None, None));
}
