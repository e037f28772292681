//! Variant trials from the first message to the last: ended at their deadline, by hand, and without a winner; and
//! campaigns with reinforcement learning.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    clocked::{Clocked, HOUR, MINUTE, SECOND, clocked},
    fixture::{Call, Cohort, call, until},
};
use crate::kit::eventually;

/// Recipients of a trial and of those who wait for its winner. A quarter of them tries each variant, which has
/// to be 30 for a winner, whichever way the draw falls: here that is six standard deviations off.
const PEOPLE: usize = 320;
/// Recipients of a campaign that learns: a tenth of them is its first wave, give or take.
const ALL: usize = 800;

/// A campaign of two variants that are tried on half of the people for four hours.
fn trial_campaign(besides: &Value) -> Value {
    let mut config = json!({
        "testPercentage": 50, "testDurationHours": 4, "winnerMetric": "click_rate", "minSamplePerVariant": 20,
    });
    for (name, value) in besides.as_object().unwrap() {
        config[name] = value.clone();
    }
    json!({"variants": two(), "abTestConfig": config})
}

/// Two variants with a link in each.
fn two() -> Value {
    let variant = |id: &str| {
        json!({"id": id, "name": id, "weight": 50, "message": {"subject": "Hello",
            "html": "<p><a href=\"https://shop.test/\">Shop</a> <a href=\"{{ unsubscribe_url }}\">out</a></p>"}})
    };
    json!([variant("a"), variant("b")])
}

/// Who was given which variant.
fn given(calls: &[Call]) -> BTreeMap<String, String> {
    calls.iter().map(|call| (call.external_id.clone(), call.variant.clone())).collect()
}

/// Follows the link of each of these messages, and waits until so many in all are reported to have clicked.
async fn click(clocked: &Clocked, id: &str, calls: &[Call], all: usize) {
    let browser = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .user_agent("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
        .build()
        .unwrap();
    let links = calls.iter().map(|call| {
        let at = call.text.find("href=\"").unwrap() + "href=\"".len();
        call.text[at..].split('"').next().unwrap().to_owned()
    });
    let followed = join_all(links.map(|link| browser.get(link).send())).await;
    assert!(followed.into_iter().all(|answer| answer.unwrap().status() == 302));
    eventually("the clicks are reported", async || {
        let path = format!("/campaigns/{id}/stats");
        (clocked.api.get(path, 200).await.json()["stats"]["clicked"] == all).then_some(())
    })
    .await;
}

/// Waits until a trial is so far; fails where it ended another way.
async fn phase(clocked: &Clocked, id: &str, phase: &str) -> Value {
    eventually(&format!("the trial is {phase}"), async || {
        let stats = clocked.api.get(format!("/campaigns/{id}/variant-stats"), 200).await.json();
        let is_there = stats["phase"] == phase;
        assert!(is_there || stats["phase"] == "testing", "not {phase}: {stats}");
        is_there.then_some(stats)
    })
    .await
}

/// The comparison of the second variant, once it was looked at when so much of the trial was over.
async fn look(clocked: &Clocked, id: &str, time: f64) -> Value {
    eventually(&format!("a look at {time} of the time"), async || {
        let stats = clocked.api.get(format!("/campaigns/{id}/variant-stats"), 200).await.json();
        let sequential = stats["variants"][1]["comparison"]["sequential"].clone();
        (sequential["informationFraction"].as_f64() >= Some(time)).then_some(sequential)
    })
    .await
}

/// Waits until a report has all the messages that left, of so many who are meant.
async fn reported_calls(clocked: &Clocked, id: &str, people: usize) -> Vec<Call> {
    let calls = clocked.log.of(id);
    eventually("all that left is reported", async || {
        let stats = clocked.api.get(format!("/campaigns/{id}/stats"), 200).await.json();
        let (queued, sent) = (&stats["stats"]["queued"], &stats["stats"]["sent"]);
        (*queued == people && *sent == calls.len()).then_some(())
    })
    .await;
    assert_eq!(clocked.log.of(id).len(), calls.len(), "nothing else leaves");
    calls
}

/// Waits until the trial's own messages have left: the other recipients wait.
async fn trial(clocked: &Clocked, id: &str) -> Vec<Call> {
    eventually("the trial begins", async || (!clocked.log.of(id).is_empty()).then_some(())).await;
    clocked.drain().await;
    let calls = reported_calls(clocked, id, PEOPLE).await;
    let share = calls.len() as f64 / PEOPLE as f64;
    assert!((0.3..0.7).contains(&share), "{share} of all are half of them");
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_ends_at_its_deadline_and_the_winner_goes_to_the_rest() {
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, PEOPLE, "trial").await;
    let id = cohort.send(&clocked.api, &trial_campaign(&json!({}))).await;
    let others = Cohort::new(&clocked.api, PEOPLE, "trial").await;
    let none = others.send(&clocked.api, &trial_campaign(&json!({"ifInconclusive": "stop"}))).await;
    let trial_campaign = trial(&clocked, &id).await;
    let unwon = trial(&clocked, &none).await.len();
    let before = given(&trial_campaign);
    assert_eq!(before.values().collect::<BTreeSet<_>>().len(), 2, "both are tried");
    let better: Vec<Call> =
        trial_campaign.iter().filter(|call| call.variant == "b").cloned().collect();
    click(&clocked, &id, &better, better.len()).await;

    clocked.pass(HOUR).await;
    let looked = look(&clocked, &id, 0.25).await;
    assert_eq!(
        (&looked["method"], &looked["isSignificant"], &looked["final"]),
        (&json!("group_sequential"), &json!(true), &json!(false)),
        "all of one variant have clicked, and none of the other: {looked}"
    );
    assert!(looked["boundary"].as_f64() > Some(4.0), "{looked}");
    clocked.process_due().await;
    assert_eq!(look(&clocked, &id, 0.25).await, looked, "looking again changes nothing");

    clocked.pass(3 * HOUR - SECOND).await;
    clocked.process_due().await;
    assert_eq!(phase(&clocked, &id, "testing").await["winnerVariantId"], json!(null));
    assert_eq!(clocked.log.of(&id).len(), trial_campaign.len(), "the others wait");
    clocked.pass(SECOND).await;
    assert_eq!(phase(&clocked, &id, "winner_sent").await["winnerVariantId"], "b");
    phase(&clocked, &none, "inconclusive").await;
    let last = look(&clocked, &id, 1.0).await;
    assert_eq!((&last["isSignificant"], &last["final"]), (&json!(true), &json!(true)), "{last}");
    assert!((1.95..2.5).contains(&last["boundary"].as_f64().unwrap()), "{last}");
    clocked.pass(MINUTE).await;
    until(&clocked.api, &id, "completed").await;
    until(&clocked.api, &none, "completed").await;
    assert_eq!(clocked.log.taken(&id).len(), PEOPLE, "everyone has it once");
    for (person, variant) in given(&clocked.log.of(&id)) {
        let expected = before.get(&person).map_or("b", String::as_str);
        assert_eq!(
            variant, expected,
            "trial recipients keep their variant, the others get the winner"
        );
    }
    assert_eq!(clocked.log.of(&none).len(), unwon, "without a winner nothing else is sent");
    let skipped = eventually("that is reported", async || {
        let path = format!("/campaigns/{none}/recipients?status=skipped&limit=1");
        let page = clocked.api.get(path, 200).await.json();
        // The reason may be there a moment after the status.
        let is_reported = page["pagination"]["total"] == PEOPLE - unwon
            && !page["data"][0]["skipReason"].is_null();
        is_reported.then_some(page)
    })
    .await;
    assert_eq!(skipped["data"][0]["skipReason"], "ab_inconclusive");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_of_everyone_is_decided_though_its_campaign_is_completed() {
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, PEOPLE, "whole").await;
    let whole = trial_campaign(&json!({"testPercentage": 100}));
    let id = cohort.send(&clocked.api, &whole).await;
    let without_people = Cohort::new(&clocked.api, 0, "empty").await;
    let empty = without_people.send(&clocked.api, &whole).await;
    for id in [&id, &empty] {
        until(&clocked.api, id, "completed").await;
    }
    let calls = reported_calls(&clocked, &id, PEOPLE).await;
    assert_eq!(calls.len(), PEOPLE);
    let better: Vec<Call> = calls.into_iter().filter(|call| call.variant == "b").collect();
    click(&clocked, &id, &better, better.len()).await;
    assert_eq!(phase(&clocked, &id, "testing").await["verdict"], json!(null));

    clocked.pass(HOUR).await;
    let looked = look(&clocked, &id, 0.25).await;
    assert_eq!((&looked["isSignificant"], &looked["final"]), (&json!(true), &json!(false)));
    clocked.pass(3 * HOUR).await;
    let decided = phase(&clocked, &id, "winner_sent").await;
    assert_eq!(
        (&decided["winnerVariantId"], &decided["verdict"]["decision"]),
        (&json!("b"), &json!("won"))
    );
    assert_eq!(phase(&clocked, &empty, "inconclusive").await["verdict"]["pValues"], json!({}));
    clocked.process_due().await;
    assert_eq!(clocked.log.of(&id).len(), PEOPLE, "no recipient is left");
    assert_eq!(until(&clocked.api, &id, "completed").await["status"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn ending_a_trial_by_hand_sends_the_winner_to_waiting_recipients_at_once() {
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, PEOPLE, "named").await;
    let manual = trial_campaign(&json!({"winnerSelection": "manual"}));
    let (early, late) =
        (cohort.send(&clocked.api, &manual).await, cohort.send(&clocked.api, &manual).await);
    let before = given(&trial(&clocked, &early).await);
    trial(&clocked, &late).await;
    let winner = json!({"variantId": "a"});
    // Long before its time is over.
    clocked.pass(MINUTE).await;
    clocked.api.post(&format!("/campaigns/{early}/select-winner"), &winner, 200).await;
    until(&clocked.api, &early, "completed").await;
    assert_eq!(clocked.log.taken(&early).len(), PEOPLE);
    let stats = eventually("the roll-out is reported", async || {
        let stats = clocked.api.get(format!("/campaigns/{early}/variant-stats"), 200).await.json();
        (stats["rollout"]["recipients"] == PEOPLE - before.len()).then_some(stats)
    })
    .await;
    assert_eq!(
        (&stats["scope"], &stats["verdict"]["decision"]),
        (&json!("trial"), &json!("selected"))
    );
    let compared: u64 =
        stats["variants"].as_array().unwrap().iter().map(|it| it["sent"].as_u64().unwrap()).sum();
    assert_eq!(compared, before.len() as u64, "messages of the test only");
    for (person, variant) in given(&clocked.log.of(&early)) {
        assert_eq!(variant, before.get(&person).map_or("a", String::as_str));
    }
    // By itself it does not end, however long it takes.
    let trial_campaign = clocked.log.of(&late).len();
    clocked.pass(9 * HOUR).await;
    clocked.process_due().await;
    phase(&clocked, &late, "testing").await;
    assert_eq!(clocked.log.of(&late).len(), trial_campaign);
    clocked.api.post(&format!("/campaigns/{late}/select-winner"), &winner, 200).await;
    phase(&clocked, &late, "winner_sent").await;
    clocked.pass(MINUTE).await;
    until(&clocked.api, &late, "completed").await;
    assert_eq!(clocked.log.taken(&late).len(), PEOPLE);
}

/// What a campaign that learns knows of its arms.
async fn arms(clocked: &Clocked, id: &str) -> Value {
    clocked.api.get(format!("/campaigns/{id}/rl-stats"), 200).await.json()
}

/// Waits until a campaign that learns was last brought up to date now. Messages that waited for that may leave at
/// once, or a second later.
async fn learning_state(clocked: &Clocked, id: &str) -> Value {
    let now = clocked.now().to_string();
    eventually("it has learnt", async || {
        let stats = arms(clocked, id).await;
        (stats["lastUpdatedAt"] == now).then_some(stats)
    })
    .await
}

/// What a variant came to: messages that left, those of them that were rewarded, and those others that had left
/// when that was last learnt.
#[derive(Debug, Clone, Copy)]
struct Earned {
    sends: usize,
    rewards: usize,
    misses: usize,
}

/// What the two variants came to: of these messages, `b`'s so many were rewarded; the first so many in all were learnt
/// from.
fn earned(calls: &[Call], rewards: usize, known: usize) -> [Earned; 2] {
    let count = |calls: &[Call], of: &str| calls.iter().filter(|it| it.variant == of).count();
    let arm = |of: &str, rewards: usize| Earned {
        sends: count(calls, of),
        rewards,
        misses: count(&calls[..known], of).saturating_sub(rewards),
    };
    [arm("a", 0), arm("b", rewards)]
}

/// Holds what is known of a campaign that learns against what its variants came to, and against itself.
fn adds_up(stats: &Value, earned: [Earned; 2]) {
    let is = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-6;
    let rate = |rewards: usize, sends: usize| rewards as f64 / sends.max(1) as f64;
    let arms = stats["arms"].as_array().unwrap();
    assert_eq!(arms.len(), earned.len(), "{stats}");
    for ((arm, name), of) in arms.iter().zip(["a", "b"]).zip(earned) {
        assert_eq!(arm["variantId"], name);
        assert_eq!(
            (&arm["sends"], &arm["rewards"]),
            (&json!(of.sends), &json!(of.rewards)),
            "{arm}"
        );
        assert!(is(&arm["rewardRate"], rate(of.rewards, of.sends)), "{arm}");
        // Nothing being known before.
        let (alpha, beta) = (1.0 + of.rewards as f64, 1.0 + of.misses as f64);
        assert!(is(&arm["alpha"], alpha) && is(&arm["beta"], beta), "{arm} of {of:?}");
        let bound = |end: &str| arm["interval"][end].as_f64().unwrap();
        let mean = alpha / (alpha + beta);
        assert!(0.0 <= bound("lower") && bound("lower") < mean, "{arm}");
        assert!(mean < bound("upper") && bound("upper") <= 1.0, "{arm}");
    }
    let [sends, rewards] = [|it: &Earned| it.sends, |it: &Earned| it.rewards]
        .map(|of| earned.iter().map(of).sum::<usize>());
    let totals = (&stats["totalSends"], &stats["totalRewards"]);
    assert_eq!(totals, (&json!(sends), &json!(rewards)), "{stats}");
    assert!(is(&stats["rewardRate"], rate(rewards, sends)), "{stats}");
    for share in ["allocation", "probabilityToBeBest"] {
        let sum = arms.iter().map(|arm| arm[share].as_f64().unwrap()).sum::<f64>();
        assert!((sum - 1.0).abs() < 1e-6, "{share}: {stats}");
    }
    let timeline = stats["timeline"].as_array().unwrap();
    let last = timeline.last().unwrap();
    assert_eq!(last["at"], stats["lastUpdatedAt"]);
    for arm in arms {
        let share = &last["allocations"][arm["variantId"].as_str().unwrap()];
        assert!(is(share, arm["allocation"].as_f64().unwrap()), "{stats}");
    }
    for field in ["valueRemaining", "estimatedLiftVsUniform"] {
        assert!(stats[field].is_number(), "{field}: {stats}");
    }
}

/// The moments of a timeline.
fn moments(stats: &Value) -> Vec<Value> {
    stats["timeline"].as_array().unwrap().iter().map(|it| it["at"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn reinforcement_learning_shifts_later_sends_to_the_better_variant() {
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, ALL, "learns").await;
    let body = cohort.campaign(&json!({"variants": two(), "sendType": "ai_optimized"}));
    let made = clocked.api.post("/campaigns", &body, 201).await.json();
    let id = made["id"].as_str().unwrap();
    let plan = json!({"objective": "click", "rewardWindowHours": 1});
    clocked.api.post(&format!("/campaigns/{id}/launch-rl"), &plan, 200).await;
    let mut looks = vec![json!(clocked.now().to_string())];
    // A tenth, an epoch later a fifth, then three and four tenths.
    let wave = async |before: usize| {
        eventually("a wave leaves", async || (clocked.log.of(id).len() > before).then_some(()))
            .await;
        clocked.drain().await;
        reported_calls(&clocked, id, ALL).await
    };
    let first = wave(0).await;
    assert!(
        (ALL / 20..ALL / 5).contains(&first.len()),
        "{} of {ALL} are the first wave",
        first.len()
    );
    let better: Vec<Call> = first.iter().filter(|call| call.variant == "b").cloned().collect();
    let won = better.len();
    assert!(won > 5 && won + 5 < first.len(), "both are tried: {won}");
    click(&clocked, id, &better, won).await;

    clocked.pass(15 * MINUTE).await;
    looks.push(json!(clocked.now().to_string()));
    let known = learning_state(&clocked, id).await;
    assert_eq!((&known["status"], moments(&known)), (&json!("learning"), looks.clone()));
    let share = |stats: &Value| stats["arms"][1]["allocation"].as_f64().unwrap();
    assert!(share(&known) > 0.85, "{known}");
    clocked.pass(MINUTE).await;
    let second = wave(first.len()).await;
    let of_second = &second[first.len()..];
    let good = of_second.iter().filter(|call| call.variant == "b").count();
    assert!(good * 4 > of_second.len() * 3, "{good} of {} get the better", of_second.len());
    let known = arms(&clocked, id).await;
    adds_up(&known, earned(&second, won, first.len()));

    halted(&clocked, (id, &known), &second, earned(&second, won, first.len())).await;
    // It goes on just as another epoch begins, and learns at once; no reward window has ended.
    looks.push(json!(clocked.now().to_string()));
    learning_state(&clocked, id).await;
    clocked.pass(MINUTE).await;
    let third = wave(second.len()).await;
    adds_up(&arms(&clocked, id).await, earned(&third, won, second.len()));
    // When the window is over nothing more is to come. An epoch just begins: its messages wait for that.
    clocked.pass(2 * HOUR - MINUTE).await;
    looks.push(json!(clocked.now().to_string()));
    learning_state(&clocked, id).await;
    clocked.pass(MINUTE).await;
    until(&clocked.api, id, "completed").await;
    assert_eq!(clocked.log.taken(id).len(), ALL, "everyone once");
    let all = reported_calls(&clocked, id, ALL).await;
    let stats = arms(&clocked, id).await;
    adds_up(&stats, earned(&all, won, third.len()));
    assert_eq!(moments(&stats), looks, "once an epoch, and not while it was halted");
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_variants_stay_uncertain_while_reward_windows_are_open() {
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, 2 * ALL, "equal").await;
    let body = cohort.campaign(&json!({"variants": two(), "sendType": "ai_optimized"}));
    let made = clocked.api.post("/campaigns", &body, 201).await.json();
    let id = made["id"].as_str().unwrap();
    let plan = json!({"objective": "click", "rewardWindowHours": 24});
    clocked.api.post(&format!("/campaigns/{id}/launch-rl"), &plan, 200).await;
    eventually("the first wave leaves", async || (!clocked.log.of(id).is_empty()).then_some(()))
        .await;
    clocked.drain().await;
    let first = reported_calls(&clocked, id, 2 * ALL).await;
    // Half of each variant is clicked.
    let mut half = Vec::new();
    for variant in ["a", "b"] {
        let own: Vec<Call> = first.iter().filter(|it| it.variant == variant).cloned().collect();
        half.extend_from_slice(&own[..own.len() / 2]);
    }
    click(&clocked, id, &half, half.len()).await;
    clocked.pass(15 * MINUTE).await;
    let stats = learning_state(&clocked, id).await;
    assert_ne!(stats["status"], "converged");
    for arm in stats["arms"].as_array().unwrap() {
        let end = |end: &str| arm["interval"][end].as_f64().unwrap();
        assert!(end("lower") < 0.45 && end("upper") > 0.55 && end("upper") < 0.75, "{arm}");
        assert_eq!(arm["matureSends"].as_f64(), arm["sends"].as_f64(), "{arm}");
        let share = arm["allocation"].as_f64().unwrap();
        assert!((0.35..=0.65).contains(&share), "{arm}");
    }
    assert!(stats["valueRemaining"].as_f64().unwrap() > 0.05, "{stats}");
}

/// Pauses a learning campaign until an epoch begins, and resumes it: meanwhile it forgets nothing, and nothing
/// leaves.
async fn halted(
    clocked: &Clocked,
    (id, known): (&str, &Value),
    left: &[Call],
    expected: [Earned; 2],
) {
    call(&clocked.api, id, "pause-rl").await;
    clocked.pass(14 * MINUTE).await;
    clocked.process_due().await;
    let stats = arms(clocked, id).await;
    assert_eq!(stats["status"], "paused");
    for field in
        ["timeline", "lastUpdatedAt", "totalRewards", "valueRemaining", "estimatedLiftVsUniform"]
    {
        assert_eq!(stats[field], known[field], "{field}");
    }
    adds_up(&stats, expected);
    for (arm, before) in [0, 1].map(|at| (&stats["arms"][at], &known["arms"][at])) {
        for field in ["alpha", "beta", "interval", "allocation", "probabilityToBeBest"] {
            assert_eq!(arm[field], before[field], "{field}");
        }
    }
    assert_eq!(clocked.log.of(id).len(), left.len());
    call(&clocked.api, id, "resume-rl").await;
}
