//! Situations of everyday use in which a comparison must not report an effect that is not there.

use std::collections::BTreeMap;

use ingest::record::MessageKind as K;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::fixture::{
    H, TestMessageEvent, campaign, conclude, hour, in_euros, iso, message_event, near, publish,
    report, track, variant,
};
use crate::kit::Workspace;

/// The internal id of person number so; events are matched by it, without a profile.
pub(super) fn user(number: usize) -> String {
    format!("{:024x}", 0x7000_0000 + number)
}

pub(super) fn two_variants() -> Value {
    json!([variant("a", 50, false), variant("b", 50, false)])
}

fn with_control() -> Value {
    json!([variant("a", 50, false), variant("c", 50, true)])
}

pub(super) fn bought() -> Value {
    json!({"primaryConversion": {"eventName": "Bought"}, "conversionWindowHours": 72})
}

pub(super) fn event(user: &str, name: &str, at_ms: i64, properties: &Value) -> Value {
    json!({"eventName": name, "userId": user, "timestamp": iso(at_ms), "properties": properties})
}

pub(super) fn codes(warnings: &Value) -> Vec<&str> {
    let all = warnings.as_array().unwrap();
    all.iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

/// An A/B test that ended without a winner.
fn ended() -> Value {
    json!({
        "phase": "inconclusive", "winnerVariantId": null, "round": 1, "beganAt": iso(hour(0)),
        "verdict": {"at": iso(hour(80)), "decision": "stopped", "pValues": {}},
    })
}

/// Messages of a variant: so many, of which the first are opened.
fn opened(
    campaign: Uuid,
    variant: &str,
    first: usize,
    sent: usize,
    open: usize,
) -> Vec<TestMessageEvent> {
    let mut all = Vec::new();
    for number in 0..sent {
        let of = |kind, at| message_event(campaign, &user(first + number), kind, at).of(variant);
        all.push(of(K::Sent, hour(0)));
        if number < open {
            all.push(of(K::Opened, hour(1)));
        }
    }
    all
}

/// What a comparison of opens must not depend on deliveries for.
fn figures(report: &Value) -> Vec<Value> {
    let of = |at: usize| &report["variants"][at];
    vec![
        of(0)["openRate"].clone(),
        of(1)["openRate"].clone(),
        of(0)["clickRate"].clone(),
        of(0)["rate"].clone(),
        of(0)["interval"].clone(),
        of(1)["comparison"].clone(),
        of(1)["probabilityToBeBest"].clone(),
        report["omnibus"].clone(),
    ]
}

#[tokio::test]
async fn reported_deliveries_change_no_rate_and_no_p_value() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({"variants": two_variants()})).await;
    let mut all = opened(id, "a", 0, 60, 12);
    all.extend(opened(id, "b", 100, 50, 14));
    publish(&workspace, &all).await;
    let before = report(&workspace, id, "variant-stats").await;
    assert_eq!(before["rateBase"], "sent_not_bounced");
    assert!(near(&before["variants"][0]["openRate"], 12.0 / 60.0), "{before}");
    for delivered in [0..1, 1..13, 13..40, 40..60] {
        let deliveries: Vec<_> = delivered
            .map(|number| message_event(id, &user(number), K::Delivered, hour(2)))
            .collect();
        publish(&workspace, &deliveries).await;
        let after = report(&workspace, id, "variant-stats").await;
        assert_eq!(figures(&after), figures(&before));
    }
    assert_eq!(report(&workspace, id, "variant-stats").await["variants"][0]["delivered"], 60);
    // A bounced message was not there to be opened.
    let bounces: Vec<_> =
        (50..60).map(|number| message_event(id, &user(number), K::Bounced, hour(3))).collect();
    publish(&workspace, &bounces).await;
    let after = report(&workspace, id, "variant-stats").await;
    assert!(near(&after["variants"][0]["openRate"], 12.0 / 50.0), "{after}");
}

/// A third of the numbers of one side is refused. Their owners buy as often as others, that is: both sides do the same.
#[tokio::test]
async fn failed_messages_count_where_they_were_assigned() {
    let workspace = Workspace::new().await;
    let fields = json!({"variants": with_control(), "conversionTracking": bought()});
    let id = campaign(&workspace, fields).await;
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for number in 0..120 {
        let user = user(number);
        let of = |kind, variant: &str| message_event(id, &user, kind, hour(0)).of(variant);
        // Ninety are assigned to the variant: 50 sent, 30 failed, 10 skipped. Thirty are held back.
        all.push(match number {
            0..50 => of(K::Sent, "a"),
            50..80 => of(K::Failed, "a").because("21610", "unsubscribed"),
            80..90 => of(K::Skipped, "a").because("quiet_hours", "none"),
            _ => of(K::Control, "c"),
        });
        // 10 of those reached, 2 of the failed, 1 of the skipped, and 5 held back buy.
        if matches!(number, 0..10 | 50..52 | 80 | 90..95) {
            events.push(event(&user, "Bought", hour(1), &json!({})));
        }
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, events.len()).await;
    let stats = report(&workspace, id, "stats").await;
    assert_eq!(stats["conversionStats"]["primary"]["uniqueConversions"], 10, "of messages sent");
    let uplift = &stats["uplift"];
    assert_eq!(
        (&uplift["analysis"], &uplift["unit"]),
        (&json!("intention_to_treat"), &json!("person"))
    );
    let sides: Vec<u64> = [
        ("treatment", "size"),
        ("treatment", "conversions"),
        ("control", "size"),
        ("control", "conversions"),
    ]
    .iter()
    .map(|(side, count)| uplift[side][count].as_u64().unwrap())
    .collect();
    assert_eq!(sides, [90, 13, 30, 5]);
    assert!(near(&uplift["reach"], 50.0 / 90.0), "{uplift}");
    let difference = 13.0 / 90.0 - 5.0 / 30.0;
    assert!(near(&uplift["absoluteUplift"], difference), "{uplift}");
    assert!(near(&uplift["onTheTreated"]["absolute"], difference * 90.0 / 50.0), "{uplift}");
    let incremental = &uplift["incrementalConversions"];
    let bound = |of: &Value, name: &str| of[name].as_f64().unwrap();
    assert!((bound(incremental, "value") - difference * 90.0).abs() < 1e-5, "{uplift}");
    let lower = bound(&uplift["confidenceInterval"], "lower");
    assert!((bound(incremental, "lower") - lower * 90.0).abs() < 1e-5, "{uplift}");
    assert!(
        (bound(&uplift["onTheTreated"]["interval"], "lower") - lower * 90.0 / 50.0).abs() < 1e-9,
        "{uplift}"
    );
    let variants = report(&workspace, id, "variant-stats").await;
    assert_eq!(variants["analysis"], "intention_to_treat");
    assert_eq!(variants["variants"][0]["people"], 90);
    assert!(near(&variants["variants"][0]["rate"], 13.0 / 90.0), "{variants}");
    assert!(near(&variants["variants"][0]["conversionRate"], 10.0 / 50.0), "{variants}");
}

#[tokio::test]
async fn more_failures_in_one_variant_than_in_another_are_a_warning() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({"variants": two_variants()})).await;
    let messages = |failed_of_b: usize| {
        (0..400).map(move |number| {
            let variant = if number < 200 { "a" } else { "b" };
            let kind = if (200..200 + failed_of_b).contains(&number) { K::Failed } else { K::Sent };
            message_event(id, &user(number), kind, hour(0)).of(variant)
        })
    };
    publish(&workspace, &messages(0).collect::<Vec<_>>()).await;
    let even = report(&workspace, id, "variant-stats").await;
    assert_eq!(codes(&even["warnings"]), [""; 0]);
    let later: Vec<_> = (200..230)
        .map(|number| {
            message_event(id, &user(number), K::Failed, hour(1)).of("b").because("30003", "x")
        })
        .collect();
    publish(&workspace, &later).await;
    let uneven = report(&workspace, id, "variant-stats").await;
    assert_eq!(codes(&uneven["warnings"]), ["differential_failure"]);
}

/// One purchase, shared by three messages, is one person who converted.
#[tokio::test]
async fn a_person_converts_once_however_many_messages_share_the_purchase() {
    let workspace = Workspace::new().await;
    let mut tracking = bought();
    tracking["attributionModel"] = json!("linear");
    let fields = json!({"variants": two_variants(), "conversionTracking": tracking});
    let id = campaign(&workspace, fields).await;
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for number in 0..40 {
        for occurrence in 1..=3 {
            let at = hour(i64::from(occurrence));
            all.push(message_event(id, &user(number), K::Sent, at).nth(occurrence));
        }
        if number < 10 {
            events.push(event(&user(number), "Bought", hour(10), &json!({})));
        }
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, 10).await;
    let stats = report(&workspace, id, "stats").await;
    let primary = &stats["conversionStats"]["primary"];
    assert_eq!((&primary["conversions"], &primary["uniqueConversions"]), (&json!(10), &json!(10)));
    assert!(near(&primary["conversionRate"], 0.25), "{primary}");
    let variants = report(&workspace, id, "variant-stats").await;
    let of = &variants["variants"][0];
    assert_eq!(variants["unit"], "person");
    assert_eq!(
        (&of["people"], &of["converters"], &of["recipients"]),
        (&json!(40), &json!(10), &json!(120))
    );
    assert!(near(&of["rate"], 0.25), "{of}");
}

/// The variance of a rate of messages, with people as units, from its definition.
fn variance_by_person(people: &[(f64, f64)]) -> f64 {
    let count = people.len() as f64;
    let (opens, messages): (Vec<f64>, Vec<f64>) = people.iter().copied().unzip();
    let mean = |of: &[f64]| of.iter().sum::<f64>() / count;
    let covariance = |one: &[f64], other: &[f64]| {
        let (mean_one, mean_other) = (mean(one), mean(other));
        let products = one.iter().zip(other).map(|(x, y)| (x - mean_one) * (y - mean_other));
        products.sum::<f64>() / (count - 1.0)
    };
    let rate = mean(&opens) / mean(&messages);
    (covariance(&opens, &opens) - 2.0 * rate * covariance(&opens, &messages)
        + rate * rate * covariance(&messages, &messages))
        / (count * mean(&messages) * mean(&messages))
}

#[tokio::test]
async fn repeated_messages_to_the_same_people_are_compared_by_person() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({"variants": two_variants()})).await;
    let mut all = Vec::new();
    let mut sides: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for number in 0..90 {
        let variant = if number < 40 { "a" } else { "b" };
        // Habits: who opens one opens nearly all. Some people get fewer messages.
        let messages = 4 + number % 3;
        let opens = if number % 4 == 0 || number % 7 == 3 { messages - number % 2 } else { 0 };
        sides.entry(variant).or_default().push((opens as f64, messages as f64));
        for occurrence in 1..=messages {
            let of = |kind, at| {
                message_event(id, &user(number), kind, at)
                    .of(variant)
                    .nth(u32::try_from(occurrence).unwrap())
            };
            all.push(of(K::Sent, hour(0)));
            if occurrence <= opens {
                all.push(of(K::Opened, hour(1)));
            }
        }
    }
    publish(&workspace, &all).await;
    let found = report(&workspace, id, "variant-stats").await;
    assert_eq!(found["unit"], "person");
    let rate = |of: &str| {
        let people = &sides[of];
        people.iter().map(|it| it.0).sum::<f64>() / people.iter().map(|it| it.1).sum::<f64>()
    };
    let variance = variance_by_person(&sides["a"]) + variance_by_person(&sides["b"]);
    let z = (rate("b") - rate("a")) / variance.sqrt();
    let comparison = &found["variants"][1]["comparison"];
    assert!((comparison["zScore"].as_f64().unwrap() - z).abs() < 1e-9, "{z} {comparison}");
    assert_eq!(comparison["isSignificant"], false);
    let best: f64 =
        (0..2).map(|at| found["variants"][at]["probabilityToBeBest"].as_f64().unwrap()).sum();
    assert!((best - 1.0).abs() < 1e-9, "{found}");
}

#[tokio::test]
async fn a_second_currency_takes_nothing_from_the_first() {
    let workspace = Workspace::new().await;
    let tracking = json!({"primaryConversion": {"eventName": "Order Completed"}});
    let fields = json!({"variants": with_control(), "conversionTracking": tracking});
    let id = campaign(&workspace, fields).await;
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for number in 0..100 {
        let is_control = number >= 60;
        let (kind, variant) = if is_control { (K::Control, "c") } else { (K::Sent, "a") };
        all.push(message_event(id, &user(number), kind, hour(0)).of(variant));
        if number % 2 == 0 {
            let order = json!({"orderId": format!("o{number}"), "total": 50, "currency": "EUR"});
            events.push(event(&user(number), "Order Completed", hour(1), &order));
        }
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, 50).await;
    let before = report(&workspace, id, "stats").await;
    assert_eq!(
        (&before["revenue"]["currency"], &before["revenue"]["total"]),
        (&json!("EUR"), &json!(1500))
    );
    assert_eq!(codes(&before["revenue"]["warnings"]), [""; 0]);
    let dollars = json!({"orderId": "d", "total": 9, "currency": "USD"});
    track(&workspace, &[event(&user(2), "Order Completed", hour(2), &dollars)], 51).await;
    let after = report(&workspace, id, "stats").await;
    let revenue = &after["revenue"];
    assert_eq!((&revenue["currency"], &revenue["total"]), (&json!("EUR"), &json!(1500)));
    assert_eq!(codes(&revenue["warnings"]), ["mixed_currencies"]);
    assert_eq!(after["uplift"]["incrementalRevenue"], before["uplift"]["incrementalRevenue"]);
    assert!(near(&after["uplift"]["incrementalRevenue"]["value"], 0.0), "{after}");
    let by_currency: Vec<(&Value, &Value, &Value)> = revenue["byCurrency"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["currency"], &it["total"], &it["uplift"]["control"]))
        .collect();
    let [euros, dollars] = [json!("EUR"), json!("USD")];
    let [total, nine, held_out, none] = [json!(1500), json!(9), json!(1000), json!(0)];
    assert_eq!(by_currency, [(&euros, &total, &held_out), (&dollars, &nine, &none)]);
    let variants = report(&workspace, id, "variant-stats").await;
    assert_eq!(variants["currency"], "EUR");
    assert_eq!(codes(&variants["warnings"]), ["mixed_currencies"]);
}

#[tokio::test]
async fn changed_weights_are_no_mismatch_of_those_assigned_before() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({"variants": two_variants()})).await;
    let assigned = |first: usize, of_a: usize, of_b: usize, occurrence: u32, at: i64| {
        (first..first + of_a + of_b).map(move |number| {
            let variant = if number < first + of_a { "a" } else { "b" };
            message_event(id, &user(number), K::Queued, at).of(variant).nth(occurrence)
        })
    };
    publish(&workspace, &assigned(0, 153, 144, 1, hour(0)).collect::<Vec<_>>()).await;
    let mismatch =
        async || report(&workspace, id, "variant-stats").await["sampleRatioMismatch"].clone();
    let before = mismatch().await;
    assert!((before["pValue"].as_f64().unwrap() - 0.6015).abs() < 1e-3, "{before}");

    let weights = json!([variant("a", 90, false), variant("b", 10, false)]);
    let edit = workspace.api.request(Method::PUT, &format!("/campaigns/{id}"));
    workspace.api.send(edit.json(&json!({"variants": weights})), 200).await;
    let after = mismatch().await;
    assert_eq!(after["detected"], false, "{after}");
    assert!((after["pValue"].as_f64().unwrap() - 0.6015).abs() < 1e-3, "{after}");

    // People keep their variant in a second round; new ones are divided by the new weights.
    let now = kernel::Clock::system().now().millis() + H;
    let mut second: Vec<_> = assigned(0, 153, 144, 2, now).collect();
    second.extend(assigned(1000, 180, 20, 1, now));
    publish(&workspace, &second).await;
    let after = mismatch().await;
    assert!(after["pValue"].as_f64().unwrap() > 0.5, "{after}");
    // New ones that are not divided by them are found.
    publish(&workspace, &assigned(2000, 100, 100, 1, now).collect::<Vec<_>>()).await;
    assert_eq!(mismatch().await["detected"], true);
}

#[tokio::test]
async fn below_the_minimum_sample_no_result_is_shown() {
    let workspace = Workspace::new().await;
    let test = json!({"enabled": true, "testPercentage": 100, "winnerMetric": "open_rate", "minSamplePerVariant": 40});
    let id = campaign(&workspace, json!({"variants": two_variants(), "abTestConfig": test})).await;
    conclude(&workspace, id, ended()).await;
    let mut all = opened(id, "a", 0, 40, 5);
    all.extend(opened(id, "b", 100, 39, 35));
    publish(&workspace, &all).await;
    let few = report(&workspace, id, "variant-stats").await;
    let comparison = &few["variants"][1]["comparison"];
    assert_eq!(
        (&comparison["pValue"], &comparison["isSignificant"]),
        (&Value::Null, &json!(false))
    );
    assert_eq!(codes(&comparison["warnings"]), ["below_min_sample"]);
    for at in 0..2 {
        let of = &few["variants"][at];
        assert_eq!((&of["probabilityToBeBest"], &of["expectedLoss"]), (&Value::Null, &Value::Null));
    }
    publish(&workspace, &opened(id, "b", 139, 1, 1)).await;
    let enough = report(&workspace, id, "variant-stats").await;
    let comparison = &enough["variants"][1]["comparison"];
    assert!(comparison["pValue"].as_f64().unwrap() < 1e-6, "{comparison}");
    assert_eq!(comparison["isSignificant"], true);
    let (a, b) = (&enough["variants"][0], &enough["variants"][1]);
    assert!(b["probabilityToBeBest"].as_f64().unwrap() > 0.999, "{b}");
    assert!(b["expectedLoss"].as_f64().unwrap() < 1e-6, "{b}");
    // Who chooses `a` loses the difference of the rates, as far as they are known.
    let loss = a["expectedLoss"].as_f64().unwrap();
    assert!((loss - (37.0 / 42.0 - 6.0 / 42.0)).abs() < 1e-3, "{a}");
}

#[tokio::test]
async fn conversions_are_compared_up_to_the_age_that_both_sides_have_reached() {
    let workspace = Workspace::new().await;
    let fields = json!({"variants": with_control(), "conversionTracking": bought()});
    let id = campaign(&workspace, fields).await;
    let now = kernel::Clock::system().now().millis();
    // The control group was held back six hours ago, the messages left one hour ago.
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for number in 0..80 {
        let is_control = number >= 40;
        let (kind, variant) = if is_control { (K::Control, "c") } else { (K::Sent, "a") };
        let at = now - if is_control { 6 * H } else { H };
        all.push(message_event(id, &user(number), kind, at).of(variant));
        // Twenty of each side buy half an hour later; ten more held back after five hours.
        if number % 40 < 20 {
            events.push(event(&user(number), "Bought", at + H / 2, &json!({})));
        } else if is_control && number < 70 {
            events.push(event(&user(number), "Bought", at + 5 * H, &json!({})));
        }
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, 50).await;
    let uplift = report(&workspace, id, "stats").await["uplift"].clone();
    assert_eq!(
        (&uplift["treatment"]["conversions"], &uplift["control"]["conversions"]),
        (&json!(20), &json!(20))
    );
    let maturity = &uplift["maturity"];
    assert!(near(&maturity["closed"], 0.0) && maturity["opensUntil"].is_string(), "{maturity}");
    let age = maturity["comparedUpToSeconds"].as_i64().unwrap();
    let since = (kernel::Clock::system().now().millis() - now) / 1000;
    assert!((3600..=3600 + since + 2).contains(&age), "{maturity}");
    let variants = report(&workspace, id, "variant-stats").await;
    assert!(near(&variants["variants"][1]["rate"], 0.5), "{variants}");
    // All of them are there all the same.
    assert_eq!(variants["variants"][1]["converters"], 30);
}

/// Nineteen to one: the few of the control group who pay a lot decide what the normal distribution says.
#[tokio::test]
async fn revenue_beside_a_small_control_group_is_compared_by_random_assignment() {
    let workspace = in_euros().await;
    let tracking = json!({"primaryConversion": {"eventName": "Order Completed"}});
    let fields = json!({"variants": with_control(), "conversionTracking": tracking});
    let id = campaign(&workspace, fields).await;
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for number in 0..400 {
        let is_control = number % 20 == 0;
        let (kind, variant) = if is_control { (K::Control, "c") } else { (K::Sent, "a") };
        all.push(message_event(id, &user(number), kind, hour(0)).of(variant));
        // Half of each side pays; a few pay a hundred times as much, none of them held back.
        if number % 40 < 20 {
            let total = if number % 97 == 5 { 3_000 } else { 20 + number % 7 };
            let order = json!({"orderId": format!("o{number}"), "total": total, "currency": "EUR"});
            events.push(event(&user(number), "Order Completed", hour(1), &order));
        }
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, events.len()).await;
    let report_of = async || report(&workspace, id, "stats").await["uplift"].clone();
    let uplift = report_of().await;
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap();
    let raw = &uplift["incrementalRevenue"];
    assert!(
        number(raw, "lower") < number(raw, "value") && number(raw, "value") < number(raw, "upper")
    );
    // With so few payers held back, none of the great amounts among them says nothing.
    assert!(number(raw, "pValue") > 0.05, "{raw}");
    assert_eq!(report_of().await, uplift, "equal data have equal results");
    assert!(number(&uplift["incrementalRevenueCapped"], "value") <= number(raw, "value"));
    let variants = report(&workspace, id, "variant-stats").await;
    assert_eq!(variants["method"], "two_proportion_z_test", "by conversions");
}

#[tokio::test]
async fn revenue_of_few_payers_is_not_called_significant() {
    let workspace = in_euros().await;
    let tracking = json!({"primaryConversion": {"eventName": "Order Completed"}});
    let test = json!({"enabled": true, "testPercentage": 100, "winnerMetric": "revenue_per_recipient", "minSamplePerVariant": 10});
    let fields =
        json!({"variants": two_variants(), "conversionTracking": tracking, "abTestConfig": test});
    let id = campaign(&workspace, fields).await;
    conclude(&workspace, id, ended()).await;
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for number in 0..80 {
        let variant = if number < 40 { "a" } else { "b" };
        all.push(message_event(id, &user(number), K::Sent, hour(0)).of(variant));
        // 30 of `a` pay, and nine of `b`.
        if number < 30 || (40..49).contains(&number) {
            let order = json!({"orderId": format!("o{number}"), "total": 10 + number % 3, "currency": "EUR"});
            events.push(event(&user(number), "Order Completed", hour(1), &order));
        }
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, 39).await;
    let variants = report(&workspace, id, "variant-stats").await;
    assert_eq!(
        (&variants["method"], &variants["metric"]),
        (&json!("re_randomisation"), &json!("revenue_per_recipient"))
    );
    let comparison = &variants["variants"][1]["comparison"];
    assert_eq!(codes(&comparison["warnings"]), ["few_payers"]);
    assert_eq!(comparison["isSignificant"], false);
    let tenth = json!({"orderId": "o79", "total": 10, "currency": "EUR"});
    track(&workspace, &[event(&user(79), "Order Completed", hour(1), &tenth)], 40).await;
    let variants = report(&workspace, id, "variant-stats").await;
    let comparison = &variants["variants"][1]["comparison"];
    assert_eq!(codes(&comparison["warnings"]), [""; 0]);
    assert_eq!(comparison["isSignificant"], true, "{comparison}");
    assert!(comparison["adjustedInterval"]["upper"].as_f64().unwrap() < 0.0, "{comparison}");
}
