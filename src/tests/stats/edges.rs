//! Campaigns at the edges: none, one and all succeed; groups of one; windows, clocks, weights and people that change.

use ingest::record::MessageKind as K;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    comparisons::{bought, codes, event, two_variants, user},
    fixture::{
        H, TestMessageEvent, campaign, hour, in_euros, iso, message_event, near, person, publish,
        report, track, variant,
    },
};
use crate::{
    identity::merge,
    kit::{Workspace, eventually, server},
};

/// Numbers of reports that may be below 0: differences and what follows from them.
const SIGNED: [&str; 17] = [
    "adjusted",
    "lift",
    "liftInterval",
    "adjustedInterval",
    "zScore",
    "absoluteUplift",
    "relativeUplift",
    "confidenceInterval",
    "relativeInterval",
    "onTheTreated",
    "incrementalConversions",
    "incrementalRevenue",
    "incrementalRevenueCapped",
    "incremental",
    "guardrails",
    "slope",
    "effects",
];

/// Numbers that are shares of 1.
const SHARES: [&str; 12] = [
    "openRate",
    "clickRate",
    "clickToOpenRate",
    "conversionRate",
    "rate",
    "pValue",
    "adjustedPValue",
    "sequentialPValue",
    "confidence",
    "probabilityToBeBest",
    "reach",
    "closed",
];

/// Fails where a number is out of its range, or an interval lacks an end: what is not finite is written as null.
#[track_caller]
fn is_sound(name: &str, value: &Value, may_be_negative: bool) {
    match value {
        Value::Object(fields) => {
            if let (Some(lower), Some(upper)) = (fields.get("lower"), fields.get("upper")) {
                assert!(lower.as_f64() <= upper.as_f64() && lower.is_number(), "{name}: {value}");
            }
            for (field, value) in fields {
                let is_signed = SIGNED.contains(&field.as_str())
                    || (field == "interval" && fields.contains_key("informationFraction"));
                is_sound(field, value, may_be_negative || is_signed);
            }
        }
        Value::Array(all) => all.iter().for_each(|value| is_sound(name, value, may_be_negative)),
        Value::Number(number) => {
            let number = number.as_f64().unwrap();
            assert!(number.is_finite() && (may_be_negative || number >= 0.0), "{name}: {number}");
            assert!(!SHARES.contains(&name) || number <= 1.0, "{name}: {number}");
        }
        _ => {}
    }
}

/// The comparison of variants, all of whose numbers are sound.
async fn variants_of(workspace: &Workspace, id: Uuid) -> Value {
    let found = report(workspace, id, "variant-stats").await;
    is_sound("variant-stats", &found, false);
    for variant in found["variants"].as_array().unwrap() {
        for name in ["rate", "openRate", "conversionRate", "revenue"] {
            assert!(variant[name].is_number(), "{name} of {variant}");
        }
    }
    found
}

/// The main report, all of whose numbers are sound.
async fn stats_of(workspace: &Workspace, id: Uuid) -> Value {
    let found = report(workspace, id, "stats").await;
    is_sound("stats", &found, false);
    found
}

/// Messages of a variant to so many people, of which the first are opened.
struct Sent {
    variant: &'static str,
    first: usize,
    people: usize,
    open: usize,
}

fn messages(id: Uuid, of: &Sent) -> Vec<TestMessageEvent> {
    let mut all = Vec::new();
    for number in 0..of.people {
        let at = |kind, at| message_event(id, &user(of.first + number), kind, at).of(of.variant);
        all.push(at(K::Sent, hour(0)));
        if number < of.open {
            all.push(at(K::Opened, hour(1)));
        }
    }
    all
}

/// The comparison of `b` with `a`, of so many people each.
async fn opened(workspace: &Workspace, people: usize, open: [usize; 2]) -> Value {
    let id = campaign(workspace, json!({"variants": two_variants()})).await;
    let mut all = messages(id, &Sent { variant: "a", first: 0, people, open: open[0] });
    all.extend(messages(id, &Sent { variant: "b", first: 500, people, open: open[1] }));
    publish(workspace, &all).await;
    let found = variants_of(workspace, id).await;
    for (at, open) in open.into_iter().enumerate() {
        let of = &found["variants"][at];
        assert_eq!((&of["sent"], &of["opened"]), (&json!(people), &json!(open)));
        assert!(near(&of["rate"], open as f64 / people.max(1) as f64), "{of}");
    }
    found
}

#[tokio::test]
async fn none_one_or_all_of_the_people_open() {
    let workspace = Workspace::new().await;
    for (open, code) in [
        ([0, 0], Some("few_expected")),
        ([0, 1], Some("few_expected")),
        ([1, 0], Some("few_expected")),
        ([39, 40], Some("few_expected")),
        ([40, 40], Some("few_expected")),
        ([0, 40], None),
        ([40, 0], None),
    ] {
        let found = opened(&workspace, 40, open).await;
        let compared = &found["variants"][1]["comparison"];
        assert_eq!(codes(&compared["warnings"]), code.into_iter().collect::<Vec<_>>(), "{open:?}");
        assert_eq!(compared["isSignificant"], code.is_none(), "{open:?}: {compared}");
        // Without opens of the baseline there is nothing for the difference to be a part of.
        assert_eq!(compared["lift"].is_null(), open[0] == 0, "{open:?}: {compared}");
        assert_eq!(compared["liftInterval"].is_null(), open[0] == 0, "{open:?}: {compared}");
        if open[0] == open[1] {
            assert_eq!(compared["pValue"], 1, "{compared}");
            assert!(near(&found["variants"][0]["probabilityToBeBest"], 0.5), "{found}");
        }
    }
    for open in [[0, 0], [0, 1], [1, 0], [1, 1]] {
        let found = opened(&workspace, 1, open).await;
        let compared = &found["variants"][1]["comparison"];
        assert_eq!(codes(&compared["warnings"]), ["few_recipients"]);
        assert_eq!(compared["isSignificant"], false);
        assert_eq!(compared["sequential"]["pValue"], Value::Null);
    }
}

/// No probability, and no loss.
const NEITHER: (&Value, &Value) = (&Value::Null, &Value::Null);

#[tokio::test]
async fn a_variant_without_rivals_is_not_the_best() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({"variants": two_variants()})).await;
    for people in [0, 40] {
        publish(&workspace, &messages(id, &Sent { variant: "a", first: 0, people, open: people }))
            .await;
        for of in variants_of(&workspace, id).await["variants"].as_array().unwrap() {
            assert_eq!((&of["probabilityToBeBest"], &of["expectedLoss"]), NEITHER, "{of}");
        }
    }
}

#[tokio::test]
async fn a_single_variant_is_compared_with_nothing() {
    let workspace = Workspace::new().await;
    let fields = json!({"variants": [variant("a", 100, false)], "conversionTracking": bought()});
    let id = campaign(&workspace, fields).await;
    for people in [0, 1, 40] {
        publish(&workspace, &messages(id, &Sent { variant: "a", first: 0, people, open: people }))
            .await;
        let found = variants_of(&workspace, id).await;
        let only = &found["variants"][0];
        assert_eq!((&only["people"], &only["opened"]), (&json!(people), &json!(people)));
        assert_eq!((&only["comparison"], &only["guardrails"]), (&Value::Null, &json!([])));
        assert_eq!((&only["probabilityToBeBest"], &only["expectedLoss"]), NEITHER);
        assert_eq!((&found["baselineVariantId"], &found["omnibus"]), (&json!("a"), &Value::Null));
        assert_eq!(found["guardrailBaselineVariantId"], Value::Null);
        assert_eq!(
            found["sampleRatioMismatch"],
            json!({"pValue": null, "sequentialPValue": null, "detected": false})
        );
        assert_eq!(stats_of(&workspace, id).await["uplift"], Value::Null);
    }
}

#[tokio::test]
async fn variants_of_one_percent_each_are_compared_with_the_rest() {
    const SMALL: [&str; 7] = ["b", "c", "d", "e", "f", "g", "h"];
    let workspace = Workspace::new().await;
    let mut variants = vec![variant("a", 93, false)];
    variants.extend(SMALL.map(|id| variant(id, 1, false)));
    let id = campaign(&workspace, json!({"variants": variants})).await;
    let mut all = messages(id, &Sent { variant: "a", first: 0, people: 93, open: 30 });
    for (at, variant) in SMALL.into_iter().enumerate() {
        all.extend(messages(id, &Sent { variant, first: 200 + at, people: 1, open: at % 2 }));
    }
    publish(&workspace, &all).await;
    let found = variants_of(&workspace, id).await;
    let ratio = &found["sampleRatioMismatch"];
    assert_eq!((&ratio["pValue"], &ratio["detected"]), (&json!(1), &json!(false)), "{ratio}");
    let each = found["variants"].as_array().unwrap();
    assert_eq!(each.len(), 8);
    for of in &each[1..] {
        assert_eq!(of["people"], 1, "{of}");
        assert_eq!(codes(&of["comparison"]["warnings"]), ["few_recipients"]);
        assert_eq!(of["comparison"]["isSignificant"], false);
        assert!(
            of["comparison"]["adjustedPValue"].as_f64() >= of["comparison"]["pValue"].as_f64(),
            "{of}"
        );
    }
    let best: f64 = each.iter().map(|of| of["probabilityToBeBest"].as_f64().unwrap()).sum();
    assert!((best - 1.0).abs() < 1e-9, "{best}");
    // Thirty people more in each of two of them are no division by the weights.
    let mut more = messages(id, &Sent { variant: "b", first: 300, people: 30, open: 0 });
    more.extend(messages(id, &Sent { variant: "c", first: 400, people: 30, open: 0 }));
    publish(&workspace, &more).await;
    assert_eq!(variants_of(&workspace, id).await["sampleRatioMismatch"]["detected"], true);
}

/// The uplift of a campaign with a control group of one, who pays this much or nothing.
async fn beside_one(workspace: &Workspace, paid_by_control: Option<u32>) -> Value {
    let tracking = json!({"primaryConversion": {"eventName": "Order Completed"}});
    let variants = json!([variant("a", 99, false), variant("c", 1, true)]);
    let id =
        campaign(workspace, json!({"variants": variants, "conversionTracking": tracking})).await;
    let first = if paid_by_control.is_some() { 200 } else { 0 };
    let mut all = messages(id, &Sent { variant: "a", first, people: 99, open: 0 });
    all.push(message_event(id, &user(first + 99), K::Control, hour(0)).of("c"));
    publish(workspace, &all).await;
    let order = |number: usize, total: u32| {
        let order =
            json!({"orderId": format!("o{first}-{number}"), "total": total, "currency": "EUR"});
        event(&user(first + number), "Order Completed", hour(1), &order)
    };
    let mut events: Vec<Value> = (0..20).map(|number| order(number, 50)).collect();
    events.extend(paid_by_control.map(|total| order(99, total)));
    track(workspace, &events, if first == 0 { 20 } else { 41 }).await;
    let found = variants_of(workspace, id).await;
    assert_eq!(found["variants"][1]["people"], 1);
    assert_eq!(found["variants"][0]["comparison"]["isSignificant"], false);
    let stats = stats_of(workspace, id).await;
    assert!(near(&stats["revenue"]["total"], 1000.0), "{stats}");
    stats["uplift"].clone()
}

#[tokio::test]
async fn a_control_group_of_one_shows_no_effect() {
    let workspace = in_euros().await;
    for (paid, bought) in [(None, 0), (Some(50), 1)] {
        let uplift = beside_one(&workspace, paid).await;
        let sides = [&uplift["treatment"], &uplift["control"]];
        assert_eq!(sides.map(|side| side["size"].clone()), [json!(99), json!(1)]);
        assert_eq!(sides.map(|side| side["conversions"].clone()), [json!(20), json!(bought)]);
        assert_eq!(uplift["isSignificant"], false);
        assert_eq!(
            codes(&uplift["warnings"]),
            ["control_small", "few_recipients", "few_payers"],
            "{uplift}"
        );
        let interval = &uplift["confidenceInterval"];
        assert!(interval["lower"].as_f64() < Some(0.0), "{uplift}");
        assert!(interval["upper"].as_f64() > Some(0.0), "{uplift}");
        // 99 times the difference of the means.
        let value = 1000.0 - 99.0 * f64::from(paid.unwrap_or(0));
        for name in ["incrementalRevenue", "incrementalRevenueCapped"] {
            let found = &uplift[name];
            assert!(near(&found["value"], value), "{name} is {value}: {uplift}");
            assert!(
                found["lower"].as_f64() <= Some(value) && found["upper"].as_f64() >= Some(value)
            );
        }
    }
}

/// How many events count for a message with a window of so many hours, of those beside its ends.
async fn within(workspace: &Workspace, hours: i64) -> Value {
    let tracking =
        json!({"primaryConversion": {"eventName": "Bought"}, "conversionWindowHours": hours});
    let fields = json!({"variants": two_variants(), "conversionTracking": tracking});
    let id = campaign(workspace, fields).await;
    let sent = hour(-hours);
    let ends = [sent - 1, sent, sent + hours * H, sent + hours * H + 1];
    let mut all = Vec::new();
    let mut events = Vec::new();
    for (number, at) in ends.into_iter().enumerate() {
        let variant = if number < 2 { "a" } else { "b" };
        all.push(message_event(id, &user(number), K::Sent, sent).of(variant));
        events.push(event(&user(number), "Bought", at, &json!({})));
    }
    publish(workspace, &all).await;
    track(workspace, &events, 4).await;
    let stats = stats_of(workspace, id).await;
    let primary = &stats["conversionStats"]["primary"];
    assert_eq!((&primary["conversions"], &primary["uniqueConversions"]), (&json!(2), &json!(2)));
    assert!(near(&primary["conversionRate"], 0.5), "{primary}");
    variants_of(workspace, id).await
}

#[tokio::test]
async fn both_ends_of_the_shortest_and_of_the_longest_window_count() {
    for hours in [1, 720] {
        let found = within(&Workspace::new().await, hours).await;
        assert_eq!(found["maturity"]["closed"], 1);
        for at in 0..2 {
            let of = &found["variants"][at];
            assert_eq!((&of["people"], &of["converters"]), (&json!(2), &json!(1)), "{hours}");
        }
    }
    // Ninety days are refused.
    let workspace = Workspace::new().await;
    let tracking = json!({"primaryConversion": {"eventName": "Bought"},
        "conversionWindowHours": 90 * 24});
    let body = crate::campaigns::email_with("Long", json!({"conversionTracking": tracking}));
    let answer = workspace.api.post("/campaigns", &body, 400).await;
    assert!(answer.text.contains("conversionWindowHours must be between 1 and 720"));
}

#[tokio::test]
async fn callbacks_whose_clocks_are_ahead_or_behind_give_sound_reports() {
    let workspace = Workspace::new().await;
    let fields = json!({"variants": two_variants(), "conversionTracking": bought()});
    let id = campaign(&workspace, fields).await;
    let now = kernel::Clock::system().now().millis();
    let mut all = Vec::new();
    for number in 0..80 {
        let variant = if number < 40 { "a" } else { "b" };
        let at = |kind, at| message_event(id, &user(number), kind, at).of(variant);
        all.push(at(K::Queued, now - 2 * H));
        all.push(at(K::Sent, now - H));
        // Of `a` opened two days from now, of `b` two days before it was sent.
        if number % 40 < 10 {
            let opened = now + if number < 40 { 48 * H } else { -48 * H };
            all.push(at(K::Delivered, opened));
            all.push(at(K::Opened, opened));
        }
    }
    publish(&workspace, &all).await;
    let stats = stats_of(&workspace, id).await;
    let counts = &stats["stats"];
    let [all, ten_each] = [json!(80), json!(20)];
    assert_eq!((&counts["queued"], &counts["sent"]), (&all, &all));
    assert_eq!((&counts["delivered"], &counts["opened"]), (&ten_each, &ten_each));
    let found = variants_of(&workspace, id).await;
    for at in 0..2 {
        assert!(near(&found["variants"][at]["openRate"], 0.25), "{found}");
    }
    let engaged = report(&workspace, id, "time-to-engage").await;
    is_sound("time-to-engage", &engaged, false);
    assert_eq!(engaged["sampleSize"], 20, "{engaged}");
}

#[tokio::test]
async fn messages_that_leave_in_the_future_have_no_results_yet() {
    let workspace = Workspace::new().await;
    let fields = json!({"variants": two_variants(), "conversionTracking": bought()});
    let id = campaign(&workspace, fields).await;
    let now = kernel::Clock::system().now().millis();
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for number in 0..80 {
        let variant = if number < 40 { "a" } else { "b" };
        all.push(message_event(id, &user(number), K::Sent, now + H).of(variant));
        if number < 20 {
            events.push(event(&user(number), "Bought", now - H, &json!({})));
        }
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, 20).await;
    let found = variants_of(&workspace, id).await;
    let maturity = &found["maturity"];
    assert_eq!((&maturity["closed"], &maturity["comparedUpToSeconds"]), (&json!(0), &json!(0)));
    assert_eq!(codes(&found["warnings"]), ["windows_open"]);
    for at in 0..2 {
        let of = &found["variants"][at];
        assert_eq!((&of["people"], &of["converters"]), (&json!(40), &json!(0)));
    }
    assert_eq!(found["variants"][1]["comparison"]["isSignificant"], false);
    stats_of(&workspace, id).await;
}

#[tokio::test]
async fn people_are_divided_by_each_of_ten_changes_of_the_weights() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({"variants": two_variants()})).await;
    let now_ms = || kernel::Clock::system().now().millis();
    let assigned = |first: usize, people: usize, of_a: usize| {
        (0..people).map(move |number| {
            let now = now_ms();
            let variant = if number < of_a { "a" } else { "b" };
            message_event(id, &user(first + number), K::Queued, now).of(variant)
        })
    };
    let mut all: Vec<TestMessageEvent> = assigned(0, 20, 10).collect();
    for change in 1..=10_usize {
        // 90 %, 10 %, 90 % and so on: half in all.
        let of_a = if change % 2 == 1 { 18 } else { 2 };
        let weights = json!([
            variant("a", 5 * u32::try_from(of_a).unwrap(), false),
            variant("b", 5 * u32::try_from(20 - of_a).unwrap(), false),
        ]);
        // Weights hold from the millisecond of their change on.
        let assigned_ms = now_ms();
        while now_ms() <= assigned_ms {
            tokio::task::yield_now().await;
        }
        let edit = workspace.api.request(Method::PUT, &format!("/campaigns/{id}"));
        workspace.api.send(edit.json(&json!({"variants": weights})), 200).await;
        all.extend(assigned(100 * change, 20, of_a));
    }
    publish(&workspace, &all).await;
    let found = variants_of(&workspace, id).await;
    let people: Vec<&Value> =
        found["variants"].as_array().unwrap().iter().map(|of| &of["sent"]).collect();
    assert_eq!(people, [0, 0], "all of them wait");
    let ratio = &found["sampleRatioMismatch"];
    assert!(near(&ratio["pValue"], 1.0) && ratio["detected"] == false, "{ratio}");

    // The weights in force are 10 and 90 %: a division by half is none of theirs.
    publish(&workspace, &assigned(5_000, 200, 100).collect::<Vec<_>>()).await;
    let found = variants_of(&workspace, id).await;
    assert_eq!(found["sampleRatioMismatch"]["detected"], true, "{found}");
}

#[tokio::test]
async fn merged_and_deleted_people_keep_their_place_in_a_trial() {
    let workspace = in_euros().await;
    let test = json!({"enabled": true, "testPercentage": 100, "winnerMetric": "conversion_rate", "minSamplePerVariant": 1});
    let fields =
        json!({"variants": two_variants(), "conversionTracking": bought(), "abTestConfig": test});
    let id = campaign(&workspace, fields).await;
    let (one, one_id) = person(&workspace).await;
    let (two, two_id) = person(&workspace).await;
    let (gone, gone_id) = person(&workspace).await;
    publish(
        &workspace,
        &[
            message_event(id, &one_id, K::Sent, hour(0)).of("a"),
            message_event(id, &two_id, K::Sent, hour(1)).of("b"),
            message_event(id, &gone_id, K::Sent, hour(0)).of("b"),
        ],
    )
    .await;
    let events = [
        event(&one, "Bought", hour(2), &json!({})),
        event(&two, "Bought", hour(3), &json!({})),
        event(&gone, "Bought", hour(2), &json!({})),
    ];
    track(&workspace, &events, 3).await;
    let counted = async || {
        let found = variants_of(&workspace, id).await;
        let of = |at: usize, name: &str| found["variants"][at][name].as_u64().unwrap();
        [of(0, "people"), of(0, "converters"), of(1, "people"), of(1, "converters")]
    };
    assert_eq!(counted().await, [1, 1, 2, 2]);

    let deletion = workspace.api.request(Method::DELETE, &format!("/users/{gone_id}"));
    workspace.api.send(deletion, 204).await;
    assert_eq!(counted().await, [1, 1, 2, 2], "who is deleted stays in the report");

    // As one person both purchases are credited to the latest message, which is of `b`.
    merge(&workspace, &one, &two).await;
    eventually("the purchases are of one person", async || {
        let found = counted().await;
        (found == [1, 0, 2, 2]).then_some(())
    })
    .await;
    let stats = stats_of(&workspace, id).await;
    assert_eq!(stats["stats"]["sent"], 3);
    let primary = &stats["conversionStats"]["primary"];
    assert_eq!((&primary["conversions"], &primary["uniqueConversions"]), (&json!(3), &json!(2)));
    for at in [one, two, gone] {
        let path = format!("recipients/{at}");
        let timeline = report(&workspace, id, &path).await;
        assert!(timeline["messages"].is_array(), "{timeline}");
    }
    let whole = report(&workspace, id, &format!("stats?startDate={}", iso(hour(1)))).await;
    assert_eq!(whole["stats"]["sent"], 1, "of the message at its own time");
}

/// Paused before the server has stored when the test began.
#[tokio::test]
async fn a_trial_that_is_paused_at_its_beginning_is_under_way() {
    let workspace = Workspace::new().await;
    let test = json!({"testPercentage": 50, "winnerMetric": "open_rate"});
    let id = campaign(&workspace, json!({"variants": two_variants(), "abTestConfig": test})).await;
    publish(&workspace, &messages(id, &Sent { variant: "a", first: 0, people: 3, open: 1 })).await;
    for (paused_from, phase, scope) in
        [("active", "testing", "trial"), ("scheduled", "none", "campaign")]
    {
        let (db, workspace_id) = (server().db(), workspace.id.uuid());
        server()
            .on(async move {
                let sql = "update campaign set status = 'paused', paused_from = $3
                           where workspace_id = $1 and id = $2";
                let query = sqlx::query(sql).bind(workspace_id).bind(id).bind(paused_from);
                query.execute(&db).await.unwrap();
            })
            .await;
        let found = variants_of(&workspace, id).await;
        assert_eq!((&found["phase"], &found["scope"]), (&json!(phase), &json!(scope)));
        assert_eq!(found["variants"][0]["sent"], 3);
    }
}
