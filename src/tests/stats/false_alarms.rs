//! Campaigns whose variants do the same, in situations of everyday use: reports call a difference significant in about one of
//! twenty, and in no more. Draws are seeded.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};
use ingest::record::MessageKind as K;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::fixture::{
    H, TestMessageEvent, campaign, conclude, hour, in_euros, iso, message_event, publish, report,
    track, variant,
};
use crate::kit::Workspace;

/// Reports asked for at once by all tests of this file. Each is limited to ten seconds, which it must not spend on waiting for
/// a core.
static REPORTS: Semaphore = Semaphore::const_new(3);

const CAMPAIGNS: usize = 200;
/// Of 200 campaigns with a probability of 5 % each, at most 19 in 99.7 %.
const FALSE_ALARMS_MAX: usize = 19;
const PER_SIDE: usize = 40;
/// Workspaces of the campaigns whose events have one name.
const WORKSPACES: usize = 10;

/// The internal id of a person of a campaign; events are matched by it, without a profile.
fn user(of_campaign: usize, number: usize) -> String {
    format!("{:024x}", 0x0100_0000_0000_u64 + (of_campaign * 1000 + number) as u64)
}

async fn campaigns(workspace: &Workspace, fields: &Value) -> Vec<Uuid> {
    campaigns_each(workspace, |_| fields.clone()).await
}

async fn campaigns_each(workspace: &Workspace, fields: impl Fn(usize) -> Value) -> Vec<Uuid> {
    let each = (0..CAMPAIGNS).map(|at| campaign(workspace, fields(at)));
    stream::iter(each).buffered(8).collect().await
}

/// How many of the reports say that something is significant.
async fn significant(
    workspace: &Workspace,
    campaigns: &[Uuid],
    of: &'static str,
    is_significant: impl Fn(&Value) -> bool,
) -> usize {
    let each = campaigns.iter().map(|id| async move {
        let _permit = REPORTS.acquire().await.expect("never closed");
        report(workspace, *id, of).await
    });
    let all: Vec<Value> = stream::iter(each).buffered(8).collect().await;
    let found = all.iter().filter(|report| is_significant(report)).count();
    eprintln!("{found} of {} are called significant", campaigns.len());
    found
}

/// Checks how many of all campaigns are called significant.
fn assert_few(found: usize) {
    assert!(found <= FALSE_ALARMS_MAX, "{found} of {CAMPAIGNS} are called significant");
}

fn of_comparison(report: &Value) -> bool {
    report["variants"][1]["comparison"]["isSignificant"] == true
}

fn of_uplift(report: &Value) -> bool {
    report["uplift"]["isSignificant"] == true
}

fn two_variants() -> Value {
    json!([variant("a", 50, false), variant("b", 50, false)])
}

fn with_control() -> Value {
    json!([variant("a", 50, false), variant("c", 50, true)])
}

/// Campaigns that count events of one name look at each other's messages; with names of their own they do not.
fn bought(of_campaign: usize) -> String {
    format!("Bought {of_campaign}")
}

fn with_control_and_conversions(of_campaign: usize) -> Value {
    json!({"variants": with_control(), "conversionTracking": tracking(&bought(of_campaign), 72)})
}

fn tracking(event: &str, hours: u32) -> Value {
    json!({"primaryConversion": {"eventName": event}, "conversionWindowHours": hours})
}

/// Sides in turn: half of the people each.
fn side(number: usize) -> &'static str {
    if number.is_multiple_of(2) { "a" } else { "b" }
}

/// Habitual openers get the same campaign five times.
#[tokio::test(flavor = "multi_thread")]
async fn people_with_several_messages_are_no_reason_for_a_difference() {
    let workspace = Workspace::new().await;
    let ids = campaigns(&workspace, &json!({"variants": two_variants()})).await;
    let mut random = StdRng::seed_from_u64(20_261_124);
    let mut all = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        for number in 0..2 * PER_SIDE {
            let habit = if random.random_bool(0.25) { 0.8 } else { 0.1 };
            for occurrence in 1..=5 {
                let of = |kind, at_ms| -> TestMessageEvent {
                    message_event(*id, &user(at, number), kind, at_ms)
                        .of(side(number))
                        .nth(occurrence)
                };
                let sent = hour(i64::from(occurrence) * 24);
                all.push(of(K::Sent, sent));
                if random.random_bool(habit) {
                    all.push(of(K::Opened, sent + H));
                }
            }
        }
    }
    publish(&workspace, &all).await;
    let found = significant(&workspace, &ids, "variant-stats", of_comparison).await;
    assert_few(found);
    assert!(found > 0, "some are, by chance");
}

/// A third of the numbers is refused, and their owners buy less. One side is held back.
#[tokio::test(flavor = "multi_thread")]
async fn refused_messages_are_no_reason_for_an_effect() {
    let workspace = Workspace::new().await;
    let ids = campaigns_each(&workspace, with_control_and_conversions).await;
    let mut random = StdRng::seed_from_u64(20_261_125);
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for (at, id) in ids.iter().enumerate() {
        for number in 0..2 * PER_SIDE {
            let user = user(at, number);
            let is_refused = random.random_bool(1.0 / 3.0);
            let of = |kind, variant| message_event(*id, &user, kind, hour(0)).of(variant);
            all.push(match (side(number), is_refused) {
                ("b", _) => of(K::Control, "c"),
                (_, true) => of(K::Failed, "a").because("21610", "refused"),
                (_, false) => of(K::Sent, "a"),
            });
            if random.random_bool(if is_refused { 0.05 } else { 0.3 }) {
                events.push(
                    json!({"eventName": bought(at), "userId": user, "timestamp": iso(hour(1))}),
                );
            }
        }
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, events.len()).await;
    assert_few(significant(&workspace, &ids, "stats", of_uplift).await);
}

/// The control group was held back first, the messages left later, and purchases are spread over the time since.
#[tokio::test(flavor = "multi_thread")]
async fn messages_that_left_later_are_no_reason_for_an_effect() {
    let workspace = Workspace::new().await;
    let ids = campaigns_each(&workspace, with_control_and_conversions).await;
    let now = kernel::Clock::system().now().millis();
    let mut random = StdRng::seed_from_u64(20_261_126);
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for (at, id) in ids.iter().enumerate() {
        for number in 0..2 * PER_SIDE {
            let user = user(at, number);
            let is_control = side(number) == "b";
            let (kind, variant) = if is_control { (K::Control, "c") } else { (K::Sent, "a") };
            let left = now - if is_control { 10 * H } else { 5 * H };
            all.push(message_event(*id, &user, kind, left).of(variant));
            // A steady stream of purchases: one hour brings 6 % of the people.
            let bought_at = left + (random.random::<f64>() * 16.0 * H as f64) as i64;
            if bought_at < now {
                let event =
                    json!({"eventName": bought(at), "userId": user, "timestamp": iso(bought_at)});
                events.push(event);
            }
        }
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, events.len()).await;
    assert_few(significant(&workspace, &ids, "stats", of_uplift).await);
}

/// The variant that was ahead by chance goes to everyone else, at a time at which fewer open.
#[tokio::test(flavor = "multi_thread")]
async fn a_roll_out_is_no_reason_for_a_difference() {
    let workspace = Workspace::new().await;
    let test = json!({"testPercentage": 50, "testDurationHours": 4, "minSamplePerVariant": 20});
    let fields = json!({"variants": two_variants(), "abTestConfig": test});
    let ids = campaigns(&workspace, &fields).await;
    let mut random = StdRng::seed_from_u64(20_261_127);
    let mut all = Vec::new();
    let mut winners = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let mut opened: BTreeMap<&str, usize> = BTreeMap::new();
        for number in 0..2 * PER_SIDE {
            let of =
                |kind, at_ms| message_event(*id, &user(at, number), kind, at_ms).of(side(number));
            all.push(of(K::Sent, hour(0)));
            if random.random_bool(0.4) {
                all.push(of(K::Opened, hour(1)));
                *opened.entry(side(number)).or_default() += 1;
            }
        }
        let winner = if opened.get("b") > opened.get("a") { "b" } else { "a" };
        winners.push(winner);
        for number in 2 * PER_SIDE..4 * PER_SIDE {
            let of = |kind, at_ms| message_event(*id, &user(at, number), kind, at_ms).of(winner);
            all.push(of(K::Sent, hour(5)));
            if random.random_bool(0.1) {
                all.push(of(K::Opened, hour(6)));
            }
        }
    }
    publish(&workspace, &all).await;
    for (id, winner) in ids.iter().zip(winners) {
        let ab = json!({
            "phase": "inconclusive", "winnerVariantId": winner, "round": 1, "beganAt": iso(hour(0)),
            "verdict": {"at": iso(hour(4)), "decision": "best_sent", "pValues": {}},
        });
        conclude(&workspace, *id, ab).await;
    }
    let found = significant(&workspace, &ids, "variant-stats", of_comparison).await;
    assert_few(found);
    assert!(found > 0, "some are, by chance");
}

/// Orders in two currencies; a few people pay a lot.
#[tokio::test(flavor = "multi_thread")]
async fn two_currencies_are_no_reason_for_an_effect() {
    let mut random = StdRng::seed_from_u64(20_261_128);
    let mut found = 0;
    // Campaigns of one workspace look at each other's messages, since orders have one name.
    for _ in 0..WORKSPACES {
        found += orders_in_two_currencies(&mut random).await;
    }
    assert_few(found);
    assert!(found > 0, "some are, by chance");
}

/// How many of the campaigns of a workspace are called significant.
async fn orders_in_two_currencies(random: &mut StdRng) -> usize {
    let workspace = in_euros().await;
    let fields = json!({
        "variants": two_variants(), "conversionTracking": tracking("Order Completed", 72),
        "abTestConfig": {"testPercentage": 100, "winnerMetric": "revenue_per_recipient", "minSamplePerVariant": 20},
    });
    let each = (0..CAMPAIGNS / WORKSPACES).map(|_| campaign(&workspace, fields.clone()));
    let ids: Vec<Uuid> = stream::iter(each).buffered(8).collect().await;
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for (at, id) in ids.iter().enumerate() {
        for number in 0..2 * PER_SIDE {
            let user = user(at, number);
            all.push(message_event(*id, &user, K::Sent, hour(0)).of(side(number)));
            if random.random_bool(0.5) {
                let total = (random.random::<f64>() * 4.0).exp().round();
                let currency = if random.random_bool(0.2) { "USD" } else { "EUR" };
                let order = json!({"orderId": format!("{at}-{number}"), "total": total, "currency": currency});
                events.push(json!({"eventName": "Order Completed", "userId": user, "timestamp": iso(hour(1)),
                    "properties": order}));
            }
        }
        let ab = json!({
            "phase": "inconclusive", "winnerVariantId": null, "round": 1, "beganAt": iso(hour(0)),
            "verdict": {"at": iso(hour(80)), "decision": "stopped", "pValues": {}},
        });
        conclude(&workspace, *id, ab).await;
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, events.len()).await;
    significant(&workspace, &ids, "variant-stats", of_comparison).await
}
