//! The effect of variants from sending to sending.

use ingest::record::MessageKind as K;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    comparisons::{bought, codes, event, two_variants, user},
    fixture::{TestMessageEvent, campaign, hour, message_event, near, publish, report, track},
};
use crate::kit::Workspace;

/// Sent messages of one sending, of which the first are opened.
struct Sending {
    occurrence: u32,
    at: i64,
    first: usize,
    people: usize,
    open: usize,
}

fn messages(campaign: Uuid, variant: &str, of: &Sending) -> Vec<TestMessageEvent> {
    let mut all = Vec::new();
    for number in 0..of.people {
        let event = |kind, at| {
            message_event(campaign, &user(of.first + number), kind, at)
                .of(variant)
                .nth(of.occurrence)
        };
        all.push(event(K::Sent, of.at));
        if number < of.open {
            all.push(event(K::Opened, of.at + 1));
        }
    }
    all
}

/// Two variants to 400 people each, of whom 120 open a, and so many b in each sending.
fn sendings(campaign: Uuid, opens_of_b: &[usize]) -> Vec<TestMessageEvent> {
    let mut all = Vec::new();
    for (occurrence, open) in (1..).zip(opens_of_b) {
        let at = hour(24 * (i64::from(occurrence) - 7));
        let of_a = Sending { occurrence, at, first: 0, people: 400, open: 120 };
        all.extend(messages(campaign, "a", &of_a));
        all.extend(messages(campaign, "b", &Sending { first: 1_000, open: *open, ..of_a }));
    }
    all
}

fn trend(report: &Value) -> &Value {
    &report["variants"][1]["comparison"]["trend"]
}

#[tokio::test]
async fn an_effect_that_fades_is_reported() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({"variants": two_variants()})).await;
    let opens = [192, 176, 164, 148, 132, 120];
    publish(&workspace, &sendings(id, &opens)).await;
    let found = report(&workspace, id, "variant-stats").await;
    assert!(codes(&found["warnings"]).contains(&"effect_fades"), "{found}");
    let text = found["warnings"].to_string();
    assert!(text.contains("The effect of b "), "{text}");
    let trend = trend(&found);
    assert_eq!((&trend["by"], &trend["fades"]), (&json!("occurrence"), &json!(true)));
    // From the definitions: logarithms of ratios, weighed by their variances.
    let (mut logs, mut weights) = (Vec::new(), Vec::new());
    for (at, open) in opens.iter().enumerate() {
        let own = *open as f64;
        let effect = &trend["effects"][at];
        assert_eq!((&effect["occurrence"], &effect["date"]), (&json!(at + 1), &Value::Null));
        assert!(near(&effect["lift"], own / 120.0 - 1.0), "{effect}");
        logs.push((own / 120.0).ln());
        weights.push(1.0 / ((1.0 - own / 400.0) / own + 0.7 / 120.0));
    }
    let weighed = |of: &dyn Fn(usize) -> f64| {
        weights.iter().enumerate().map(|(at, weight)| weight * of(at)).sum::<f64>()
    };
    let all = weighed(&|_| 1.0);
    let (middle, mean) = (weighed(&|at| at as f64) / all, weighed(&|at| logs[at]) / all);
    let q = weighed(&|at| (logs[at] - mean).powi(2));
    let spread = weighed(&|at| (at as f64 - middle).powi(2));
    let slope = weighed(&|at| (at as f64 - middle) * (logs[at] - mean)) / spread;
    assert!(near(&trend["cochranQ"]["statistic"], q), "{q} {trend}");
    assert_eq!(trend["cochranQ"]["degreesOfFreedom"], 5);
    assert!(near(&trend["slope"]["perStep"], slope.exp_m1()), "{slope} {trend}");
    let half = 1.959_963_984_540_054 / spread.sqrt();
    assert!(near(&trend["slope"]["interval"]["lower"], (slope - half).exp_m1()), "{trend}");
    assert!(near(&trend["slope"]["interval"]["upper"], (slope + half).exp_m1()), "{trend}");
    assert!(trend["slope"]["adjustedPValue"].as_f64().unwrap() < 0.01, "{trend}");
}

#[tokio::test]
async fn a_steady_effect_does_not_fade_and_three_sendings_have_no_trend() {
    let workspace = Workspace::new().await;
    let steady = campaign(&workspace, json!({"variants": two_variants()})).await;
    publish(&workspace, &sendings(steady, &[160, 158, 161, 159])).await;
    let found = report(&workspace, steady, "variant-stats").await;
    assert_eq!(codes(&found["warnings"]), [""; 0]);
    assert_eq!(trend(&found)["fades"], false);
    assert!(trend(&found)["slope"]["pValue"].as_f64().unwrap() > 0.5, "{found}");

    let three = campaign(&workspace, json!({"variants": two_variants()})).await;
    publish(&workspace, &sendings(three, &[240, 180, 120])).await;
    let found = report(&workspace, three, "variant-stats").await;
    assert_eq!(trend(&found)["effects"].as_array().unwrap().len(), 3);
    assert_eq!((&trend(&found)["slope"], &trend(&found)["cochranQ"]), (&Value::Null, &Value::Null));
    assert_eq!(codes(&found["warnings"]), [""; 0]);

    let once = campaign(&workspace, json!({"variants": two_variants()})).await;
    publish(&workspace, &sendings(once, &[240])).await;
    assert_eq!(*trend(&report(&workspace, once, "variant-stats").await), Value::Null);
}

#[tokio::test]
async fn a_campaign_that_goes_to_each_once_is_compared_by_day() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({"variants": two_variants()})).await;
    let mut all = Vec::new();
    for (day, first) in (0..5).zip((0..).step_by(100)) {
        let at = hour(24 * day + 10);
        let of_a = Sending { occurrence: 1, at, first, people: 60, open: 20 };
        all.extend(messages(id, "a", &of_a));
        // Too few open on the second day.
        let open = if day == 1 { 4 } else { 30 };
        all.extend(messages(id, "b", &Sending { first: 5_000 + first, open, ..of_a }));
    }
    publish(&workspace, &all).await;
    let found = report(&workspace, id, "variant-stats").await;
    let trend = trend(&found);
    assert_eq!((&trend["by"], &trend["fades"]), (&json!("day"), &json!(false)));
    let effects = trend["effects"].as_array().unwrap();
    let dates: Vec<&str> = effects.iter().map(|it| it["date"].as_str().unwrap()).collect();
    let expected: Vec<String> = [0, 2, 3, 4]
        .iter()
        .map(|day| super::fixture::iso(hour(24 * day))[..10].to_owned())
        .collect();
    assert_eq!(dates, expected, "{trend}");
    assert!(effects.iter().all(|it| near(&it["lift"], 0.5)), "{trend}");
    assert!(near(&trend["slope"]["perStep"], 0.0), "{trend}");
}

#[tokio::test]
async fn conversions_have_a_trend_of_all_who_were_assigned() {
    let workspace = Workspace::new().await;
    let fields = json!({"variants": two_variants(), "conversionTracking": bought()});
    let id = campaign(&workspace, fields).await;
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for (occurrence, buyers_of_b) in [(1, 20), (2, 10)] {
        let at = hour(96 * (i64::from(occurrence) - 2));
        for (variant, first, buyers) in [("a", 0, 10), ("b", 1_000, buyers_of_b)] {
            let of = Sending { occurrence, at, first, people: 36, open: 0 };
            all.extend(messages(id, variant, &of));
            // Of these the message fails, and one of them buys all the same.
            all.extend((36..40).map(|number| {
                message_event(id, &user(first + number), K::Failed, at)
                    .of(variant)
                    .nth(occurrence)
                    .because("21610", "refused")
            }));
            events.extend((0..buyers).map(|number| {
                event(&user(first + 37 - number), "Bought", at + 60_000, &json!({}))
            }));
        }
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, events.len()).await;
    let found = report(&workspace, id, "variant-stats").await;
    let effects = &trend(&found)["effects"];
    assert!(near(&effects[0]["lift"], 1.0) && near(&effects[1]["lift"], 0.0), "{found}");
}
