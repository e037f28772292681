//! The counting rules one by one, with expected values computed by hand.

use ingest::record::MessageKind as K;
use serde_json::{Value, json};

use super::fixture::{
    H, TestMessageEvent, campaign, hour, in_euros, iso, message_event, near, person, publish,
    report, track, variant,
};
use crate::kit::Workspace;

async fn stats_of(
    fate: impl Fn(&dyn Fn(K, i64) -> TestMessageEvent) -> Vec<TestMessageEvent>,
) -> Value {
    let workspace = Workspace::new().await;
    let (_, user) = person(&workspace).await;
    let campaign = campaign(&workspace, json!({})).await;
    let at = |kind, minutes: i64| message_event(campaign, &user, kind, hour(0) + minutes * 60_000);
    publish(&workspace, &fate(&at)).await;
    report(&workspace, campaign, "stats").await["stats"].clone()
}

#[track_caller]
fn is(stats: &Value, expected: Value) {
    for (name, expected) in expected.as_object().unwrap() {
        assert_eq!(stats[name], *expected, "{name} of {stats}");
    }
}

#[tokio::test]
async fn a_later_stage_implies_the_earlier_ones() {
    let click =
        stats_of(|at| vec![at(K::Queued, 0), at(K::Clicked, 5).on("https://x.test/")]).await;
    is(
        &click,
        json!({"queued": 1, "sent": 1, "delivered": 1, "opened": 1, "clicked": 1, "totalOpens": 1, "totalClicks": 1}),
    );
    let open = stats_of(|at| vec![at(K::Queued, 0), at(K::Sent, 1), at(K::Opened, 5)]).await;
    is(&open, json!({"sent": 1, "delivered": 1, "opened": 1, "clicked": 0}));
}

#[tokio::test]
async fn a_bounce_cancels_the_delivery_but_not_the_send() {
    let stats = stats_of(|at| {
        vec![at(K::Queued, 0), at(K::Sent, 1), at(K::Delivered, 1), at(K::Bounced, 9)]
    })
    .await;
    is(&stats, json!({"queued": 1, "sent": 1, "delivered": 0, "bounced": 1, "failed": 0}));
}

/// As when a server refuses the address while it is talked to.
#[tokio::test]
async fn a_message_that_failed_and_bounced_is_one_of_those_that_did_either() {
    let refused = stats_of(|at| {
        let failed = at(K::Failed, 1).because("550", "no such user");
        vec![at(K::Queued, 0), failed, at(K::Bounced, 1).because("5.1.1", "no such user")]
    })
    .await;
    is(&refused, json!({"sent": 0, "failed": 1, "bounced": 1, "failedOrBounced": 1}));
    let returned = stats_of(|at| vec![at(K::Queued, 0), at(K::Sent, 1), at(K::Bounced, 9)]).await;
    is(&returned, json!({"sent": 1, "failed": 0, "bounced": 1, "failedOrBounced": 1}));
}

#[tokio::test]
async fn a_successful_retry_overrides_the_earlier_failure() {
    let retried = stats_of(|at| {
        vec![at(K::Queued, 0), at(K::Failed, 1).because("timeout", "x"), at(K::Sent, 60)]
    })
    .await;
    is(&retried, json!({"sent": 1, "failed": 0}));
    let called_back = stats_of(|at| {
        vec![at(K::Queued, 0), at(K::Sent, 1), at(K::Failed, 60).because("30003", "x")]
    })
    .await;
    is(&called_back, json!({"queued": 1, "sent": 0, "failed": 1}));
}

#[tokio::test]
async fn an_unknown_outcome_counts_as_sent_once_a_report_arrives() {
    let lost =
        stats_of(|at| vec![at(K::Queued, 0), at(K::Failed, 9).because("unknown", "x")]).await;
    is(&lost, json!({"queued": 1, "sent": 0, "failed": 1}));
    let stats = stats_of(|at| {
        vec![at(K::Queued, 0), at(K::Delivered, 5), at(K::Failed, 9).because("unknown", "x")]
    })
    .await;
    is(&stats, json!({"queued": 1, "sent": 1, "delivered": 1, "failed": 0}));
}

#[tokio::test]
async fn bots_tests_and_repeats_are_not_counted() {
    let stats = stats_of(|at| {
        let open = at(K::Opened, 5);
        let mut machine = at(K::Opened, 3);
        machine.is_bot = true;
        let mut test = at(K::Sent, 4).nth(9);
        test.is_test = true;
        vec![
            at(K::Queued, 0),
            at(K::Sent, 1),
            at(K::Sent, 1),
            open.clone(),
            open,
            at(K::Opened, 6),
            machine,
            test,
        ]
    })
    .await;
    is(&stats, json!({"queued": 1, "sent": 1, "opened": 1, "totalOpens": 2, "machineOpened": 1}));
    let machine = stats_of(|at| {
        let mut open = at(K::Opened, 3);
        open.is_bot = true;
        vec![at(K::Queued, 0), at(K::Sent, 1), open]
    })
    .await;
    is(&machine, json!({"opened": 0, "delivered": 0, "machineOpened": 1, "totalOpens": 0}));
}

#[tokio::test]
async fn the_control_group_is_counted_only_as_control() {
    let stats = stats_of(|at| vec![at(K::Queued, 0), at(K::Control, 0)]).await;
    is(&stats, json!({"queued": 0, "sent": 0, "control": 1, "failed": 0}));
}

#[tokio::test]
async fn a_message_is_reported_at_its_send_time() {
    let workspace = Workspace::new().await;
    let campaign = campaign(&workspace, json!({})).await;
    let mut all = Vec::new();
    for at in [hour(1), hour(2)] {
        let (_, user) = person(&workspace).await;
        all.push(message_event(campaign, &user, K::Queued, hour(0)));
        all.push(message_event(campaign, &user, K::Sent, at));
        all.push(message_event(campaign, &user, K::Opened, hour(9)));
    }
    publish(&workspace, &all).await;
    for (start, end, expected) in [
        (hour(1), hour(2), 2),
        (hour(1), hour(2) - 1, 1),
        (hour(1) + 1, hour(2), 1),
        (hour(1) + 1, hour(2) - 1, 0),
        (hour(3), hour(10), 0),
    ] {
        let path = format!("stats?startDate={}&endDate={}", iso(start), iso(end));
        let stats = report(&workspace, campaign, &path).await["stats"].clone();
        is(
            &stats,
            json!({"queued": expected, "sent": expected, "opened": expected, "totalOpens": expected}),
        );
    }
}

/// A campaign of two variants and a control group that counts orders.
async fn shop(workspace: &Workspace, model: &str) -> uuid::Uuid {
    let variants = json!([variant("c", 50, true), variant("a", 50, false)]);
    let counted = json!({
        "primaryConversion": {"eventName": "Order Completed"},
        "conversionWindowHours": 24,
        "attributionModel": model,
    });
    campaign(workspace, json!({"variants": variants, "conversionTracking": counted})).await
}

fn order(external: &str, at: i64, id: &str, total: f64) -> Value {
    json!({
        "eventName": "Order Completed", "userId": external, "timestamp": iso(at),
        "properties": {"orderId": id, "total": total, "currency": "EUR"},
    })
}

#[tokio::test]
async fn a_conversion_counts_within_its_window_and_an_order_once() {
    let workspace = in_euros().await;
    let (external, user) = person(&workspace).await;
    let campaign = shop(&workspace, "last_touch").await;
    publish(&workspace, &[message_event(campaign, &user, K::Sent, hour(0))]).await;
    let events = [
        order(&external, hour(0) - 1, "before", 1.0),
        order(&external, hour(0), "at once", 10.0),
        order(&external, hour(24), "at the end", 20.5),
        order(&external, hour(24), "at the end", 999.0),
        order(&external, hour(24) + 1, "after", 4000.0),
        order("another user", hour(1), "else", 5000.0),
    ];
    track(&workspace, &events, events.len()).await;
    let report = report(&workspace, campaign, "stats").await;
    let primary = &report["conversionStats"]["primary"];
    assert!(
        near(&primary["conversions"], 2.0) && near(&primary["uniqueConversions"], 1.0),
        "{primary}"
    );
    let revenue = &report["revenue"];
    assert!(near(&revenue["total"], 30.5) && near(&revenue["orders"], 2.0), "{revenue}");
    assert!(near(&revenue["averageOrderValue"], 15.25), "{revenue}");
    assert_eq!(revenue["currency"], "EUR");
    assert_eq!(report["conversionTracking"]["conversionWindowHours"], 24);
}

#[tokio::test]
async fn each_attribution_model_credits_across_campaigns_with_the_same_goal() {
    for (model, first, second) in
        [("last_touch", 0.0, 1.0), ("first_touch", 1.0, 0.0), ("linear", 0.5, 0.5)]
    {
        let workspace = in_euros().await;
        let (external, user) = person(&workspace).await;
        let (one, two) = (shop(&workspace, model).await, shop(&workspace, model).await);
        let all = [
            message_event(one, &user, K::Sent, hour(0)),
            message_event(two, &user, K::Sent, hour(5)),
        ];
        publish(&workspace, &all).await;
        track(&workspace, &[order(&external, hour(6), "o", 8.0)], 1).await;
        for (campaign, expected) in [(one, first), (two, second)] {
            let report = report(&workspace, campaign, "stats").await;
            let primary = &report["conversionStats"]["primary"];
            assert!(near(&primary["conversions"], expected), "{model}: {primary}");
            assert!(near(&report["revenue"]["total"], 8.0 * expected), "{model}: {report}");
        }
    }
}

#[tokio::test]
async fn a_report_is_credited_by_the_model_it_is_asked_for() {
    let workspace = in_euros().await;
    let (external, user) = person(&workspace).await;
    let (one, two) = (shop(&workspace, "last_touch").await, shop(&workspace, "last_touch").await);
    let all =
        [message_event(one, &user, K::Sent, hour(0)), message_event(two, &user, K::Sent, hour(5))];
    publish(&workspace, &all).await;
    track(&workspace, &[order(&external, hour(6), "o", 8.0)], 1).await;
    for (model, first, second) in
        [("last_touch", 0.0, 1.0), ("first_touch", 1.0, 0.0), ("linear", 0.5, 0.5)]
    {
        for (campaign, expected) in [(one, first), (two, second)] {
            let path = format!("stats?attributionModel={model}");
            let report = report(&workspace, campaign, &path).await;
            let goals = &report["conversionStats"];
            assert!(near(&goals["primary"]["conversions"], expected), "{model}: {goals}");
            assert!(near(&report["revenue"]["total"], 8.0 * expected), "{model}: {report}");
            assert_eq!(goals["attributionModel"], model);
            assert_eq!(report["conversionTracking"]["attributionModel"], "last_touch");
        }
    }
    let path = format!("/campaigns/{one}/stats?attributionModel=u_shaped");
    let refused = workspace.api.get(path, 400).await;
    assert!(refused.text.contains("attributionModel must be one of"), "{}", refused.text);
}

#[tokio::test]
async fn uplift_matches_reference_values() {
    let workspace = in_euros().await;
    let campaign = shop(&workspace, "last_touch").await;
    // 5 of 50 held out and 9 of 50 treated convert.
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for number in 0..100 {
        let (is_control, place) = (number % 2 == 0, number / 2);
        // Without a profile, events are matched by the internal id itself.
        let user = format!("{:024x}", 0x5000_0000 + number);
        let kind = if is_control { K::Control } else { K::Sent };
        all.push(message_event(campaign, &user, kind, hour(0)).of(if is_control {
            "c"
        } else {
            "a"
        }));
        if place < if is_control { 5 } else { 9 } {
            let id = format!("o{number}");
            events.push(order(&user, hour(1), &id, 10.0));
        }
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, events.len()).await;
    let stats = report(&workspace, campaign, "stats").await;
    let uplift = &stats["uplift"];
    assert_eq!(uplift["controlVariantId"], "c");
    assert_eq!(
        (&uplift["treatment"]["size"], &uplift["control"]["size"]),
        (&json!(50), &json!(50))
    );
    let near = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 6e-5;
    assert!(near(&uplift["pValue"], 0.249), "{uplift}");
    assert!(near(&uplift["confidenceInterval"]["lower"], -0.0608), "{uplift}");
    assert!(near(&uplift["confidenceInterval"]["upper"], 0.2243), "{uplift}");
    assert!(
        near(&uplift["absoluteUplift"], 0.08) && near(&uplift["relativeUplift"], 0.8),
        "{uplift}"
    );
    assert!(near(&uplift["incrementalConversions"]["value"], 4.0), "{uplift}");
    assert!(near(&uplift["incrementalRevenue"]["value"], 40.0), "{uplift}");
    assert_eq!(uplift["isSignificant"], false);
    let warnings = uplift["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|it| it["code"] == "control_small"), "{uplift}");
    // What those held out bought is not the campaign's.
    assert!(near(&stats["revenue"]["total"], 90.0), "{stats}");

    let variants = report(&workspace, campaign, "variant-stats").await;
    assert_eq!(
        (&variants["baselineVariantId"], &variants["metric"]),
        (&json!("c"), &json!("conversion_rate"))
    );
    assert_eq!(variants["variants"][0]["comparison"], Value::Null);
    let comparison = &variants["variants"][1]["comparison"];
    assert!(near(&comparison["zScore"], 1.1528), "{comparison}");
    assert!(near(&comparison["probabilityToBeBest"], 0.8684), "{comparison}");
    assert_eq!(
        variants["sampleRatioMismatch"],
        json!({"pValue": 1, "sequentialPValue": 1, "detected": false})
    );
}

#[tokio::test]
async fn messages_and_events_of_another_workspace_are_not_reported() {
    let (here, there) = (in_euros().await, in_euros().await);
    let campaign = shop(&here, "last_touch").await;
    let (external, user) = person(&here).await;
    publish(&there, &[message_event(campaign, &user, K::Sent, hour(0))]).await;
    publish(&here, &[message_event(campaign, &user, K::Sent, hour(0) + H)]).await;
    track(&there, &[order(&external, hour(2), "o", 8.0)], 1).await;
    let report = report(&here, campaign, "stats").await;
    assert_eq!(report["stats"]["sent"], 1);
    assert!(near(&report["revenue"]["total"], 0.0), "{report}");
}

#[tokio::test]
async fn revenue_uses_the_orders_common_base_currency_when_the_workspace_has_none() {
    let workspace = Workspace::new().await;
    let (external, user) = person(&workspace).await;
    let campaign = shop(&workspace, "last_touch").await;
    publish(&workspace, &[message_event(campaign, &user, K::Sent, hour(0))]).await;
    let order = |who: &str, id: &str, (total, currency): (f64, &str), base: Value| {
        let mut properties = json!({"orderId": id, "total": total, "currency": currency});
        properties.as_object_mut().unwrap().extend(base.as_object().unwrap().clone());
        json!({
            "eventName": "Order Completed", "userId": who, "timestamp": iso(hour(1)),
            "properties": properties,
        })
    };
    let events = [
        order(&external, "1", (10.0, "GBP"), json!({"total_base": 12.0, "base_currency": "EUR"})),
        order(&external, "2", (5.0, "USD"), json!({"total_base": 4.5, "base_currency": "EUR"})),
        order(&external, "3", (3.0, "EUR"), json!({})),
        order(&external, "4", (7.0, "GBP"), json!({})),
    ];
    track(&workspace, &events, 4).await;
    let stats = report(&workspace, campaign, "stats").await;
    let revenue = &stats["revenue"];
    assert_eq!(revenue["currency"], "EUR", "{revenue}");
    assert!(near(&revenue["total"], 19.5) && near(&revenue["orders"], 3.0), "{revenue}");
    assert_eq!(revenue["otherCurrencies"][0]["currency"], "GBP", "{revenue}");
    assert!(near(&revenue["otherCurrencies"][0]["total"], 7.0), "{revenue}");
    let variants = report(&workspace, campaign, "variant-stats").await;
    let treated = &variants["variants"][1];
    assert!(near(&treated["revenue"], 19.5), "{treated}");
    let person = report(&workspace, campaign, &format!("recipients/{user}")).await;
    let happened = person["messages"][0]["events"].as_array().unwrap();
    let in_base = json!({"eventName": "Order Completed", "value": 12.0, "currency": "EUR"});
    assert!(happened.iter().any(|event| event["metadata"] == in_base), "{happened:?}");

    // With a second base currency amounts are in the orders' own, mainly that of most orders.
    let other =
        order("else", "5", (1.0, "USD"), json!({"total_base": 1.0, "base_currency": "USD"}));
    track(&workspace, &[other], 5).await;
    let stats = report(&workspace, campaign, "stats").await;
    let revenue = &stats["revenue"];
    assert_eq!(revenue["currency"], "GBP", "{revenue}");
    assert!(near(&revenue["total"], 17.0), "{revenue}");
    let others: Vec<(&str, f64)> = revenue["otherCurrencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["currency"].as_str().unwrap(), it["total"].as_f64().unwrap()))
        .collect();
    assert_eq!(others, [("EUR", 3.0), ("USD", 5.0)], "{revenue}");
}
