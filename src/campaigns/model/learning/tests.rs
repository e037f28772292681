//! Shares, stages and counting of learning campaigns.

use proptest::prelude::*;
use serde_json::json;
use statistics::delay::{CLOSED, interval_of};

use super::*;

fn variant(id: &str, is_control: bool) -> Variant {
    Variant {
        id: id.to_owned(),
        name: id.to_uppercase(),
        weight: 50.0,
        message: None,
        custom_content: None,
        is_control_group: Some(is_control),
    }
}

fn begun() -> Learning {
    let variants = [variant("a", false), variant("c", true), variant("b", false)];
    Learning::begin(Plan::default(), &variants, Timestamp::from_millis(0)).unwrap()
}

#[test]
fn initially_all_variants_get_the_same_share() {
    let learning = begun();
    assert_eq!(learning.arms.len(), 2, "the control group is not to choose from");
    assert!(learning.keeps_enough());
    for estimates in learning.estimates() {
        assert!((estimates.probability_to_be_best - 0.5).abs() < 1e-9);
        assert!((estimates.allocation - 0.5).abs() < 1e-9);
        assert!(
            (estimates.interval.0 - 0.025).abs() < 1e-9
                && (estimates.interval.1 - 0.975).abs() < 1e-9
        );
    }
    assert!(learning.lift_vs_uniform().abs() < 1e-9);
    assert_eq!(learning.timeline.len(), 1);
    let kept = serde_json::to_value(&learning).unwrap();
    assert_eq!(serde_json::from_value::<Learning>(kept).unwrap(), learning);
}

/// Messages whose windows are over.
fn closed(sends: u64, rewards: u64) -> Vec<AgeGroup> {
    let group = |delay, messages| AgeGroup { age: CLOSED, delay, messages };
    vec![group(Some(20), rewards), group(None, sends - rewards)]
}

/// Learns the same in as many epochs as convergence takes.
fn learn_settled(learning: &mut Learning, observed: &[Vec<AgeGroup>]) {
    for epoch in 1..=SETTLED_EPOCHS {
        let now = Timestamp::from_millis(i64::from(epoch) * 900_000);
        learning.learn(observed, None, CampaignId::new(uuid::Uuid::nil()), now);
    }
}

#[test]
fn better_variants_get_more_and_the_others_their_minimum() {
    let id = CampaignId::new(uuid::Uuid::nil());
    for (is_one_time, rest) in [(false, 0.05), (true, 0.0)] {
        let mut learning = Learning { is_one_time, ..begun() };
        learn_settled(&mut learning, &[closed(1000, 100), closed(1000, 200)]);
        assert_eq!(learning.status, Stage::Converged);
        let estimates = learning.estimates();
        assert!(estimates[1].probability_to_be_best > 0.999_9);
        assert!((estimates[0].allocation - rest).abs() < 1e-9);
        assert!((estimates[1].allocation - (1.0 - rest)).abs() < 1e-9);
        assert!(learning.value_remaining(id) < 0.001);
    }
    let mut learning = begun();
    learn_settled(&mut learning, &[closed(1000, 100), closed(1000, 200)]);
    // 0.95 × 0.2 + 0.05 × 0.1 is 30 % more than 0.15.
    assert!((learning.lift_vs_uniform() - 0.3).abs() < 0.01);
}

#[test]
fn shares_are_the_minimum_and_a_part_by_probability() {
    let id = CampaignId::new(uuid::Uuid::nil());
    let mut learning = Learning { min_exploration_percent: 10.0, ..begun() };
    let observed = [closed(200, 20), closed(200, 26)];
    learning.learn(&observed, None, id, Timestamp::from_millis(0));
    assert_eq!(learning.status, Stage::Optimizing);
    for (estimate, share) in learning.estimates().iter().zip(learning.shares()) {
        let expected = 0.1 + 0.8 * estimate.probability_to_be_best;
        assert!((share - expected).abs() < 1e-12, "{share} {expected}");
    }
    assert!((learning.shares().iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn the_stage_follows_from_observations() {
    let mut learning = begun();
    let id = CampaignId::new(uuid::Uuid::nil());
    let clear = [(1000, 100), (1000, 200)];
    for (epoch, observed, stage) in [
        (1, [(1000, 100), (99, 10)], Stage::Learning),
        (2, [(1000, 100), (1000, 110)], Stage::Optimizing),
        (3, clear, Stage::Optimizing),
        (4, clear, Stage::Optimizing),
        (5, clear, Stage::Converged),
        (6, [(1000, 100), (1000, 110)], Stage::Optimizing),
        (7, clear, Stage::Optimizing),
    ] {
        let now = Timestamp::from_millis(epoch * 900_000);
        let groups = observed.map(|(sends, rewards)| closed(sends, rewards));
        learning.learn(&groups, None, id, now);
        assert_eq!(learning.status, stage, "{epoch}");
        let arm = &learning.arms[1];
        assert_eq!((arm.sends, arm.rewards), observed[1]);
        assert_eq!(learning.last_updated_at, now);
    }
    assert_eq!(learning.timeline.len(), 8);
    assert!((learning.timeline[5].allocations["b"] - 0.95).abs() < 1e-9);
    for _ in 0..TIMELINE_MAX {
        learning.learn(&[vec![], vec![]], None, id, Timestamp::from_millis(0));
    }
    assert_eq!(learning.timeline.len(), TIMELINE_MAX);
}

/// Messages 15 minutes old, half of them rewarded, most of these at once.
fn young(sends: u64, rewards: u64) -> Vec<AgeGroup> {
    let age = interval_of(900_000);
    let group = |delay, messages| AgeGroup { age, delay, messages };
    vec![
        group(Some(0), rewards / 2),
        group(Some(interval_of(300_000)), rewards - rewards / 2),
        group(None, sends - rewards),
    ]
}

#[test]
fn early_rewards_alone_do_not_make_a_rate_certain() {
    let mut learning = begun();
    let id = CampaignId::new(uuid::Uuid::nil());
    learning.learn(&[young(584, 288), young(584, 288)], None, id, Timestamp::from_millis(900_000));
    assert_eq!(learning.status, Stage::Optimizing);
    for estimate in learning.estimates() {
        let (lower, upper) = estimate.interval;
        assert!((lower - 0.453).abs() < 0.001 && (upper - 0.534).abs() < 0.001, "{estimate:?}");
        assert!((estimate.allocation - 0.5).abs() < 0.01, "{estimate:?}");
    }
    assert!((learning.value_remaining(id) - 0.10).abs() < 0.02);
    // The window is a day: nothing is known beyond the quarter of an hour.
    assert!(learning.rates_within_seconds.is_some_and(|reach| (600..=900).contains(&reach)));
    assert!(learning.delays.is_empty(), "no window is over");
}

#[test]
fn messages_count_by_the_delays_of_earlier_campaigns_until_there_are_own_rewards() {
    // Half of the rewards come within ten minutes, the others within two hours.
    let earlier = BTreeMap::from([(interval_of(600_000) - 1, 500), (interval_of(7_200_000), 500)]);
    let usual = usual_delays([&earlier]).unwrap();
    let mut learning = begun();
    let few = [young(200, 20), young(200, 30)];
    let id = CampaignId::new(uuid::Uuid::nil());
    learning.learn(&few, Some(&usual), id, Timestamp::from_millis(900_000));
    assert!((learning.arms[0].tried() - 100.0).abs() < 1.0, "{:?}", learning.arms);
    assert_eq!(learning.rates_within_seconds, None);
    learning.learn(&few, None, id, Timestamp::from_millis(900_000));
    assert!((learning.arms[0].tried() - 200.0).abs() < 1e-9);
    assert_eq!(usual_delays([&BTreeMap::from([(3, 99)])]), None);
}

#[test]
fn waves_wait_for_half_of_the_rewards() {
    let hour = Duration::from_hours(1);
    let of = |interval| usual_delays([&BTreeMap::from([(interval, 100)])]);
    for (usual, minutes) in [
        (None, 15),
        (of(0), 15),
        (of(interval_of(16 * 60_000)), 30),
        (of(interval_of(24 * 3_600_000)), 60),
    ] {
        assert_eq!(wave_gap(usual.as_ref(), hour), Duration::from_mins(minutes));
    }
}

#[test]
fn a_state_of_an_older_version_is_read() {
    let mut stored = serde_json::to_value(begun()).unwrap();
    stored.as_object_mut().unwrap().remove("settledEpochs");
    stored["arms"][0] = json!({"variantId": "a", "name": "A", "sends": 100, "rewards": 40});
    let learning: Learning = serde_json::from_value(stored).unwrap();
    let rate = learning.arms[0].rate();
    assert!((rate.alpha - 41.0).abs() < 1e-9 && (rate.beta - 61.0).abs() < 1e-9);
}

#[test]
fn the_delays_of_closed_windows_are_kept_and_not_shown() {
    let mut learning = begun();
    let id = CampaignId::new(uuid::Uuid::nil());
    learning.learn(&[closed(100, 40), closed(100, 30)], None, id, Timestamp::from_millis(0));
    assert_eq!(learning.delays, BTreeMap::from([(20, 70)]));
    let stored = serde_json::to_value(&learning).unwrap();
    assert_eq!(serde_json::from_value::<Learning>(stored.clone()).unwrap(), learning);
    let shown = shown(stored);
    assert!(shown["delays"].is_null() && shown["arms"].is_array());
}

#[test]
fn learning_needs_two_variants_besides_the_control_group() {
    let variants = [variant("a", false), variant("c", true)];
    assert_eq!(Learning::begin(Plan::default(), &variants, Timestamp::from_millis(0)), None);
}

#[test]
fn a_plan_has_its_bounds() {
    let read = |sent: serde_json::Value| {
        kernel::fields::read_object::<Plan>(sent.as_object().unwrap())
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    assert_eq!(read(json!({})), Ok(Plan::default()));
    let full = read(
        json!({"objective": "revenue", "rewardWindowHours": 720, "minExplorationPercent": 50}),
    );
    assert_eq!(full.unwrap().objective, Objective::Revenue);
    for (sent, complaint) in [
        (
            json!({"objective": "fame"}),
            "objective must be one of: open, click, conversion, revenue",
        ),
        (json!({"rewardWindowHours": 0}), "rewardWindowHours must be between 1 and 720"),
        (json!({"rewardWindowHours": 721}), "rewardWindowHours must be between 1 and 720"),
        (json!({"minExplorationPercent": 50.1}), "minExplorationPercent must be between 0 and 50"),
        (json!({"minExplorationPercent": -1}), "minExplorationPercent must be between 0 and 50"),
    ] {
        assert_eq!(read(sent), Err(vec![complaint.to_owned()]));
    }
}

proptest! {
    // Each integrates over the posteriors of all variants.
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn shares_add_up_and_respect_the_minimum(
        raw in prop::collection::vec((0_u64..2000, 0_u64..2000), 2..=8), percent in 0.0..=12.5_f64,
    ) {
        let variants: Vec<Variant> =
            (0..raw.len()).map(|at| variant(&format!("v{at}"), false)).collect();
        let plan = Plan { min_exploration_percent: percent, ..Plan::default() };
        let mut learning = Learning::begin(plan, &variants, Timestamp::from_millis(0)).unwrap();
        let seen: Vec<Vec<AgeGroup>> =
            raw.iter().map(|(sends, rewards)| closed(*sends, *rewards.min(sends))).collect();
        learning.learn(&seen, None, CampaignId::new(uuid::Uuid::nil()), Timestamp::from_millis(0));
        let shares = learning.shares();
        prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(shares.iter().all(|share| *share >= percent / 100.0 - 1e-12));
    }
}
