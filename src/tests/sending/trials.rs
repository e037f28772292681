//! Trials of variants from their first message to their last: ended by their time, by a person, and without a
//! winner; and campaigns that learn.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    clocked::{Clocked, HOUR, MINUTE, SECOND, clocked},
    fixture::{Call, Cohort, call, until},
};
use crate::kit::eventually;

/// Recipients of a trial and of those who wait for its winner.
const PEOPLE: usize = 160;

/// A campaign of two variants that are tried on half of the people for four hours.
fn tried(besides: &Value) -> Value {
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

/// Waits until a trial is so far.
async fn phase(clocked: &Clocked, id: &str, phase: &str) -> Value {
    eventually(&format!("the trial is {phase}"), async || {
        let stats = clocked.api.get(format!("/campaigns/{id}/variant-stats"), 200).await.json();
        (stats["phase"] == phase).then_some(stats)
    })
    .await
}

/// Waits until the trial's own messages have left: everybody else's wait.
async fn trial(clocked: &Clocked, id: &str) -> Vec<Call> {
    eventually("the trial has left", async || {
        let stats = clocked.api.get(format!("/campaigns/{id}/stats"), 200).await.json();
        let (queued, sent) = (&stats["stats"]["queued"], stats["stats"]["sent"].as_u64().unwrap());
        let calls = clocked.log.of(id);
        let share = sent as f64 / PEOPLE as f64;
        let is_all = *queued == PEOPLE && calls.len() as u64 == sent;
        ((0.3..0.7).contains(&share) && is_all).then_some(())
    })
    .await;
    clocked.glance().await;
    clocked.log.of(id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_ends_by_its_time_and_its_winner_goes_to_the_rest() {
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, PEOPLE, "trial").await;
    let id = cohort.send(&clocked.api, &tried(&json!({}))).await;
    let others = Cohort::new(&clocked.api, PEOPLE, "trial").await;
    let none = others.send(&clocked.api, &tried(&json!({"ifInconclusive": "stop"}))).await;
    let tried = trial(&clocked, &id).await;
    let unwon = trial(&clocked, &none).await.len();
    let before = given(&tried);
    assert_eq!(before.values().collect::<BTreeSet<_>>().len(), 2, "both are tried");
    let better: Vec<Call> = tried.iter().filter(|call| call.variant == "b").cloned().collect();
    click(&clocked, &id, &better, better.len()).await;

    clocked.pass(4 * HOUR - SECOND).await;
    clocked.glance().await;
    assert_eq!(phase(&clocked, &id, "testing").await["winnerVariantId"], json!(null));
    assert_eq!(clocked.log.of(&id).len(), tried.len(), "the others wait");
    clocked.pass(SECOND).await;
    assert_eq!(phase(&clocked, &id, "winner_sent").await["winnerVariantId"], "b");
    phase(&clocked, &none, "inconclusive").await;
    clocked.pass(MINUTE).await;
    until(&clocked.api, &id, "completed").await;
    until(&clocked.api, &none, "completed").await;
    assert_eq!(clocked.log.taken(&id).len(), PEOPLE, "everyone has it once");
    for (person, variant) in given(&clocked.log.of(&id)) {
        let expected = before.get(&person).map_or("b", String::as_str);
        assert_eq!(variant, expected, "who tried a variant keeps it, the others get the winner");
    }
    assert_eq!(clocked.log.of(&none).len(), unwon, "without a winner nobody else gets anything");
    let skipped = eventually("that is reported", async || {
        let path = format!("/campaigns/{none}/recipients?status=skipped&limit=1");
        let page = clocked.api.get(path, 200).await.json();
        (page["pagination"]["total"] == PEOPLE - unwon).then_some(page)
    })
    .await;
    assert_eq!(skipped["data"][0]["skipReason"], "ab_inconclusive");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_may_end_a_trial_and_those_who_wait_get_the_winner_at_once() {
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, PEOPLE, "named").await;
    let manual = tried(&json!({"winnerSelection": "manual"}));
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
    for (person, variant) in given(&clocked.log.of(&early)) {
        assert_eq!(variant, before.get(&person).map_or("a", String::as_str));
    }
    // By itself it does not end, however long it takes.
    let tried = clocked.log.of(&late).len();
    clocked.pass(9 * HOUR).await;
    clocked.glance().await;
    phase(&clocked, &late, "testing").await;
    assert_eq!(clocked.log.of(&late).len(), tried);
    clocked.api.post(&format!("/campaigns/{late}/select-winner"), &winner, 200).await;
    phase(&clocked, &late, "winner_sent").await;
    clocked.pass(MINUTE).await;
    until(&clocked.api, &late, "completed").await;
    assert_eq!(clocked.log.taken(&late).len(), PEOPLE);
}

/// Waits until a campaign that learns was last brought up to date now.
async fn learnt(clocked: &Clocked, id: &str) -> Value {
    let now = clocked.now().to_string();
    eventually("it has learnt", async || {
        let stats = clocked.api.get(format!("/campaigns/{id}/rl-stats"), 200).await.json();
        (stats["lastUpdatedAt"] == now).then_some(stats)
    })
    .await
}

/// Holds what is known of a campaign that learns against itself.
fn adds_up(stats: &Value) {
    let arms = stats["arms"].as_array().unwrap();
    let sum = |field: &str| arms.iter().map(|arm| arm[field].as_f64().unwrap()).sum::<f64>();
    let is = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-6;
    let (sends, rewards) = (sum("sends"), sum("rewards"));
    assert!(is(&stats["totalSends"], sends) && is(&stats["totalRewards"], rewards), "{stats}");
    assert!(is(&stats["rewardRate"], rewards / sends.max(1.0)), "{stats}");
    for share in ["allocation", "probabilityToBeBest"] {
        assert!((sum(share) - 1.0).abs() < 1e-6, "{share}: {stats}");
    }
    for arm in arms {
        let of = |field: &str| arm[field].as_f64().unwrap();
        // Learnt from are those whose time is over, once an epoch.
        assert!((1.0..=1.0 + of("rewards")).contains(&of("alpha")), "{arm}");
        assert!((1.0..=1.0 + of("sends")).contains(&of("beta")), "{arm}");
        assert!(is(&arm["rewardRate"], of("rewards") / of("sends").max(1.0)), "{arm}");
        let (lower, upper) = (&arm["interval"]["lower"], &arm["interval"]["upper"]);
        assert!(lower.as_f64().unwrap() < upper.as_f64().unwrap(), "{arm}");
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

#[tokio::test(flavor = "multi_thread")]
async fn what_is_learnt_of_the_first_decides_what_the_others_get() {
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, 400, "learns").await;
    let body = cohort.campaign(&json!({"variants": two(), "sendType": "ai_optimized"}));
    let made = clocked.api.post("/campaigns", &body, 201).await.json();
    let id = made["id"].as_str().unwrap();
    let plan = json!({"objective": "click", "rewardWindowHours": 1});
    clocked.api.post(&format!("/campaigns/{id}/launch-rl"), &plan, 200).await;
    // A tenth, an epoch later a fifth, then three and four tenths.
    let wave = async |least: usize| {
        eventually("a wave leaves", async || (clocked.log.of(id).len() >= least).then_some(()))
            .await;
        clocked.glance().await;
        clocked.log.of(id)
    };
    let first = wave(20).await;
    assert!(first.len() < 80, "{} of 400 are the first wave", first.len());
    let better: Vec<Call> = first.iter().filter(|call| call.variant == "b").cloned().collect();
    assert!(better.len() > 5 && better.len() + 5 < first.len(), "both are tried: {}", better.len());
    click(&clocked, id, &better, better.len()).await;

    clocked.pass(15 * MINUTE).await;
    let known = learnt(&clocked, id).await;
    adds_up(&known);
    assert_eq!(known["status"], "learning");
    assert_eq!(known["totalRewards"], better.len());
    let share = |stats: &Value| stats["arms"][1]["allocation"].as_f64().unwrap();
    assert_eq!(known["arms"][1]["variantId"], "b");
    assert!(share(&known) > 0.85, "{known}");
    clocked.pass(MINUTE).await;
    let second = wave(first.len() + 40).await;
    let of_second = &second[first.len()..];
    let good = of_second.iter().filter(|call| call.variant == "b").count();
    assert!(good * 4 > of_second.len() * 3, "{good} of {} get the better", of_second.len());

    // Halted, it forgets nothing, and nothing leaves.
    call(&clocked.api, id, "pause-rl").await;
    clocked.pass(15 * MINUTE).await;
    clocked.glance().await;
    let stats = clocked.api.get(format!("/campaigns/{id}/rl-stats"), 200).await.json();
    assert_eq!(stats["status"], "paused");
    for field in ["timeline", "lastUpdatedAt", "totalRewards"] {
        assert_eq!(stats[field], known[field], "{field}");
    }
    for (arm, before) in [0, 1].map(|at| (&stats["arms"][at], &known["arms"][at])) {
        for field in ["alpha", "beta", "allocation", "probabilityToBeBest"] {
            assert_eq!(arm[field], before[field], "{field}");
        }
    }
    assert_eq!(clocked.log.of(id).len(), second.len());
    call(&clocked.api, id, "resume-rl").await;
    // When the window is over, what earned nothing counts as well. An epoch just begins: its messages wait for that.
    clocked.pass(2 * HOUR - MINUTE).await;
    let known = learnt(&clocked, id).await;
    adds_up(&known);
    assert_eq!(known["totalRewards"], better.len());
    assert!(known["totalSends"].as_u64().unwrap() >= second.len() as u64, "{known}");
    clocked.pass(MINUTE).await;
    until(&clocked.api, id, "completed").await;
    assert_eq!(clocked.log.taken(id).len(), 400, "everyone once");
    let stats = clocked.api.get(format!("/campaigns/{id}/rl-stats"), 200).await.json();
    adds_up(&stats);
    // One more where it was looked at between going on and the next epoch.
    assert!((3..=4).contains(&stats["timeline"].as_array().unwrap().len()), "{stats}");
}
