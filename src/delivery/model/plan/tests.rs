//! Plans of campaigns as they are stored, over audiences of ids.

use std::collections::BTreeMap;

use campaigns::model::{Campaign, Edit, State, Status};
use serde_json::{Value, json};
use statistics::delay::{AgeGroup, CLOSED};

use super::*;

const BEGINS: &str = "2026-07-10T10:20:00Z";

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// An active campaign with two variants of the same weight and a control group of a tenth.
fn campaign(more: &Value) -> Campaign {
    let variant = |id: &str, weight: f64| json!({"id": id, "name": id, "weight": weight, "message": {"body": "b"}});
    let mut control = variant("c", 10.0);
    control["isControlGroup"] = json!(true);
    let mut body = json!({
        "name": "n", "channel": "sms", "variants": [variant("a", 45.0), variant("b", 45.0), control],
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let definition = Edit::of(body.as_object().unwrap().clone()).alone("UTC").unwrap();
    let mut state = State::new(Status::Active, None);
    state.occurrence = 1;
    Campaign {
        id: "01890000-0000-7000-8000-000000000001".parse().unwrap(),
        revision: 1,
        definition,
        pending_draft: None,
        version: 1,
        state,
        created_by: String::new(),
        updated_by: String::new(),
        created_at: at(BEGINS),
        updated_at: at(BEGINS),
    }
}

fn users(n: u32) -> impl Iterator<Item = UserId> {
    (0..n).map(|n| {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&n.to_be_bytes());
        UserId::from_bytes(bytes)
    })
}

const fn of(user: UserId) -> Candidate<'static> {
    Candidate { user, exposure: None, zone: Zone::UTC, best_hour: None }
}

fn name(placement: &Placement<'_>) -> String {
    match placement {
        Placement::Control(variant, at) => format!("control {} {at}", variant.id),
        Placement::Send(Some(variant), at) => format!("{} {at}", variant.id),
        Placement::Send(None, at) => format!("drawn {at}"),
        Placement::Skip(reason) => reason.code().to_owned(),
    }
}

fn counted(plan: &Plan, n: u32) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for user in users(n) {
        *counts.entry(name(&plan.place(&of(user)))).or_default() += 1;
    }
    counts
}

fn is_about(found: Option<&u32>, expected: u32) -> bool {
    let found = found.copied().unwrap_or(0);
    found.abs_diff(expected) <= expected / 10 + 30
}

#[test]
fn everyone_gets_a_variant_at_once_and_the_control_group_nothing() {
    let plan = Plan::of(&campaign(&json!({})), at(BEGINS));
    let counts = counted(&plan, 10_000);
    assert_eq!(counts.len(), 3, "{counts:?}");
    assert!(is_about(counts.get("control c 2026-07-10T10:20:00.000Z"), 1000), "{counts:?}");
    assert!(is_about(counts.get("a 2026-07-10T10:20:00.000Z"), 4500), "{counts:?}");
    assert_eq!(counts, counted(&plan, 10_000));
}

#[test]
fn who_was_given_a_variant_keeps_it_while_it_is_there() {
    let plan = Plan::of(&campaign(&json!({})), at(BEGINS));
    for user in users(100) {
        for (exposure, expected) in
            [("a", "a 2026-07-10T10:20:00.000Z"), ("c", "control c 2026-07-10T10:20:00.000Z")]
        {
            let who = Candidate { exposure: Some(exposure), ..of(user) };
            assert_eq!(name(&plan.place(&who)), expected);
        }
        let who = Candidate { exposure: Some("gone"), ..of(user) };
        assert_eq!(plan.place(&who), plan.place(&of(user)));
    }
}

#[test]
fn a_trial_lets_the_others_wait_for_its_winner() {
    let mut tried =
        campaign(&json!({"abTestConfig": {"testPercentage": 30, "testDurationHours": 2}}));
    let plan = Plan::of(&tried, at(BEGINS));
    let counts = counted(&plan, 10_000);
    // The control group is divided like the others.
    assert!(is_about(counts.get("control c 2026-07-10T10:20:00.000Z"), 300), "{counts:?}");
    assert!(is_about(counts.get("control c 2026-07-10T12:20:00.000Z"), 700), "{counts:?}");
    assert!(is_about(counts.get("b 2026-07-10T10:20:00.000Z"), 1350), "{counts:?}");
    assert!(is_about(counts.get("drawn 2026-07-10T12:20:00.000Z"), 6300), "{counts:?}");

    let waiting = users(10_000)
        .find(|user| plan.place(&of(*user)) == Placement::Send(None, at("2026-07-10T12:20:00Z")))
        .unwrap();
    let now = at("2026-07-10T12:20:00Z");
    assert_eq!(plan.draw(waiting, None, now), Some(Draw::Wait(at("2026-07-10T12:20:15Z"))));
    tried.state.ab = Some(json!({"phase": "winner_sent", "winnerVariantId": "b", "round": 1}));
    let plan = Plan::of(&tried, at(BEGINS));
    assert_eq!(plan.draw(waiting, Some("a"), now), Some(Draw::Variant(plan.variant("b").unwrap())));
    // From now on the winner goes to all but the control group.
    assert_eq!(
        counted(&plan, 1000).keys().collect::<Vec<_>>(),
        ["b 2026-07-10T10:20:00.000Z", "control c 2026-07-10T10:20:00.000Z"]
    );
    tried.state.ab = Some(json!({"phase": "inconclusive", "winnerVariantId": null, "round": 1}));
    let plan = Plan::of(&tried, at(BEGINS));
    assert_eq!(plan.draw(waiting, None, now), Some(Draw::Skip(SkipReason::AbInconclusive)));
    tried.state.ab = Some(
        json!({"phase": "testing", "winnerVariantId": null, "round": 2, "beganAt": "2026-07-10T00:00:00Z"}),
    );
    let plan = Plan::of(&tried, at(BEGINS));
    assert!(counted(&plan, 1000).contains_key("drawn 2026-07-10T02:00:00.000Z"));
}

fn learning(sends: [u64; 2], rewards: [u64; 2]) -> Campaign {
    let mut campaign = campaign(&json!({"sendType": "ai_optimized"}));
    let mut learning = Learning::begin(
        campaigns::model::learning::Plan::default(),
        &campaign.definition.variants,
        at(BEGINS),
    )
    .unwrap();
    let group = |delay, messages| AgeGroup { age: CLOSED, delay, messages };
    let observed =
        [0, 1].map(|at| vec![group(Some(0), rewards[at]), group(None, sends[at] - rewards[at])]);
    learning.learn(&observed, None, campaign.id, at(BEGINS));
    campaign.state.rl = Some(serde_json::to_value(learning).unwrap());
    campaign
}

fn drawn(plan: &Plan, now: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for user in users(5000) {
        let Some(Draw::Variant(variant)) = plan.draw(user, None, at(now)) else { continue };
        *counts.entry(variant.id.clone()).or_default() += 1;
    }
    counts
}

#[test]
fn learning_sends_in_waves_and_draws_by_what_it_knows() {
    let plan = Plan::of(&learning([0, 0], [0, 0]), at(BEGINS));
    let counts = counted(&plan, 10_000);
    for (moment, part) in [("10:20", 900), ("10:35", 1800), ("10:50", 2700), ("11:05", 3600)] {
        let key = format!("drawn 2026-07-10T{moment}:00.000Z");
        assert!(is_about(counts.get(&key), part), "{counts:?}");
        let of_control = format!("control c 2026-07-10T{moment}:00.000Z");
        assert!(is_about(counts.get(&of_control), part / 9), "{counts:?}");
    }
    let even = drawn(&plan, BEGINS);
    assert!(is_about(even.get("a"), 2250), "{even:?}");
    assert_eq!(even, drawn(&plan, BEGINS), "a draw can be followed");
    assert_eq!(even, drawn(&plan, "2026-07-10T10:29:59.999Z"), "an epoch is 15 minutes");
    assert_ne!(even, drawn(&plan, "2026-07-10T10:30:00Z"));

    // Each is drawn as often as its share says, within two and a half standard errors.
    for (sends, rewards) in
        [([2000, 2000], [20, 200]), ([99, 2000], [0, 1000]), ([300, 300], [60, 70])]
    {
        let campaign = learning(sends, rewards);
        let learnt = Learning::of(&campaign).unwrap();
        let counts = drawn(&Plan::of(&campaign, at(BEGINS)), BEGINS);
        for (arm, share) in learnt.arms.iter().zip(learnt.shares()) {
            let found = f64::from(counts.get(&arm.variant_id).copied().unwrap_or(0));
            let all: u32 = counts.values().sum();
            let error = (share * (1.0 - share) / f64::from(all)).sqrt();
            let off = found / f64::from(all) - share;
            assert!(off.abs() <= 2.5 * error, "{} {share} {counts:?}", arm.variant_id);
        }
    }
}

#[test]
fn optimised_times_are_within_the_window_and_on_the_recipients_clocks() {
    let sent = campaign(&json!({"sendType": "intelligent", "stoConfig": {"windowHours": 24}}));
    let plan = Plan::of(&sent, at(BEGINS));
    assert!(plan.wants_hours());
    let zone: Zone = "America/New_York".parse().unwrap();
    let (mut at_hour, mut elsewhere) = (0, 0);
    for user in users(2000) {
        let who = Candidate { zone, best_hour: Some(19), ..of(user) };
        let Placement::Send(_, moment) = plan.place(&who) else { continue };
        assert!(at(BEGINS) <= moment && moment <= at("2026-07-11T10:20:00Z"));
        // 19 o'clock there is 23 UTC.
        let is_best = at("2026-07-10T23:00:00Z") <= moment && moment <= at("2026-07-10T23:55:00Z");
        *(if is_best { &mut at_hour } else { &mut elsewhere }) += 1;
        if is_best {
            assert_eq!(moment.millis() % 300_000, 0);
        }
    }
    let held_out = f64::from(elsewhere) / f64::from(at_hour + elsewhere);
    assert!((0.07..0.12).contains(&held_out), "{held_out}");
}

#[test]
fn an_hour_that_has_just_passed_is_now_and_an_earlier_one_tomorrow() {
    let hours =
        Hours::of(campaign(&json!({})).id, campaigns::model::settings::sto::StoConfig::default());
    let find = |best: u8| {
        let user = users(100).find(|user| salted(hours.campaign(), *user, "sto") >= 1000).unwrap();
        hours.moment(&Candidate { best_hour: Some(best), ..of(user) }, at("2026-07-10T10:59:00Z"))
    };
    assert_eq!(find(10), at("2026-07-10T10:59:00Z"));
    assert!(find(9) >= at("2026-07-11T09:00:00Z"));
    assert!(find(12) <= at("2026-07-10T12:55:00Z"));
}

#[test]
fn without_habits_the_fallback_holds() {
    let user =
        users(100).find(|user| salted(campaign(&json!({})).id, *user, "sto") >= 1000).unwrap();
    for (config, popular, expected) in [
        (json!({}), Some(12), BEGINS),
        (json!({"fallback": "popular_hour"}), None, "2026-07-11T09:00:00Z"),
        (
            json!({"fallback": "popular_hour", "fallbackTime": "11:30"}),
            None,
            "2026-07-10T11:30:00Z",
        ),
    ] {
        let sent = campaign(&json!({"sendType": "intelligent", "stoConfig": config}));
        let mut plan = Plan::of(&sent, at(BEGINS));
        plan.set_popular_hour(popular);
        let Placement::Send(_, moment) = plan.place(&Candidate { exposure: Some("a"), ..of(user) })
        else {
            panic!("not sent")
        };
        assert_eq!(moment, at(expected));
    }
}

#[test]
fn a_campaign_that_is_sent_again_leaves_out_whom_its_policy_says() {
    for (occurrence, more, expected) in [
        (1, json!({}), LeftOut::NoProfile),
        (2, json!({}), LeftOut::SentSince(None)),
        (2, json!({"resendPolicy": "everyone"}), LeftOut::NoProfile),
        (
            3,
            json!({"resendPolicy": "cooldown", "resendCooldownDays": 2}),
            LeftOut::SentSince(Some(at("2026-07-08T10:20:00Z"))),
        ),
        (
            3,
            json!({"sendType": "recurring", "recurringSchedule": {"frequency": "daily"}}),
            LeftOut::NoProfile,
        ),
    ] {
        let mut sent = campaign(&more);
        sent.state.occurrence = occurrence;
        assert_eq!(Plan::of(&sent, at(BEGINS)).left_out(), expected, "{more}");
    }
}
