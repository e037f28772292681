//! The shapes of reports: of campaigns without events, of one person, of invalid queries.

use ingest::record::MessageKind as K;
use serde_json::{Value, json};

use super::fixture::{
    campaign, hour, in_euros, iso, message_event, person, publish, report, track, variant,
};
use crate::kit::Workspace;

#[tokio::test]
async fn a_campaign_without_events_reports_zeros_in_every_field() {
    let workspace = Workspace::new().await;
    let variants = json!([variant("a", 60, false), variant("c", 40, true)]);
    let counted = json!({"primaryConversion": {"eventName": "Bought"}, "secondaryConversions": [{"eventName": "Viewed"}]});
    let full = json!({"variants": variants, "conversionTracking": counted});
    let id = campaign(&workspace, full).await;
    let stats = report(&workspace, id, "stats").await;
    assert!(stats["stats"].as_object().unwrap().values().all(|count| *count == 0), "{stats}");
    assert_eq!(stats["campaignId"], id.to_string());
    assert_eq!((&stats["channel"], &stats["status"]), (&json!("email"), &json!("draft")));
    let none = json!({
        "eventName": "Bought", "conversions": 0, "uniqueConversions": 0, "conversionRate": 0,
        "conversionsBySendTime": 0,
    });
    assert_eq!(stats["conversionStats"]["primary"], none);
    assert_eq!(stats["conversionStats"]["secondary"].as_array().unwrap().len(), 1);
    assert_eq!(
        stats["conversionStats"]["byVariant"],
        json!([{"variantId": "a", "uniqueConversions": 0, "conversionRate": 0}])
    );
    assert_eq!(stats["revenue"]["currency"], Value::Null);
    assert_eq!(stats["revenue"]["otherCurrencies"], json!([]));
    let uplift = &stats["uplift"];
    assert_eq!((&uplift["pValue"], &uplift["isSignificant"]), (&Value::Null, &json!(false)));
    assert_eq!(uplift["control"], json!({"size": 0, "conversions": 0, "rate": 0, "revenue": 0}));

    let variants = report(&workspace, id, "variant-stats").await;
    assert_eq!((&variants["phase"], &variants["baselineVariantId"]), (&json!("none"), &json!("c")));
    assert_eq!(variants["variants"][0]["comparison"]["pValue"], Value::Null);
    assert_eq!(variants["variants"][0]["interval"], json!({"lower": 0, "upper": 1}));
    assert_eq!(
        variants["sampleRatioMismatch"],
        json!({"pValue": null, "sequentialPValue": null, "detected": false})
    );

    let links = report(&workspace, id, "links").await;
    assert_eq!(
        links,
        json!({
            "campaignId": id, "rateBase": "sent_not_bounced", "links": [], "totalClicks": 0,
            "uniqueClickers": 0,
        })
    );
    assert_eq!(report(&workspace, id, "failure-reasons").await, json!([]));
    let engaged = report(&workspace, id, "time-to-engage").await;
    assert_eq!(
        (&engaged["sampleSize"], &engaged["medianSecondsToOpen"]),
        (&json!(0), &Value::Null)
    );
    let buckets = engaged["buckets"].as_array().unwrap();
    assert_eq!(buckets.len(), 10);
    assert_eq!(
        buckets[9],
        json!({"label": "7d+", "fromSeconds": 604_800, "toSeconds": null, "opened": 0, "clicked": 0, "engaged": 0})
    );
    assert_eq!(report(&workspace, id, "send-occurrences").await, json!({"data": [], "total": 0}));
    assert_eq!(
        report(&workspace, id, "recipients").await,
        json!({"data": [], "pagination": {"total": 0, "limit": 50, "offset": 0, "hasMore": false}})
    );
}

#[tokio::test]
async fn reports_omit_conversions_and_uplift_when_not_configured() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({})).await;
    let stats = report(&workspace, id, "stats").await;
    for name in ["conversionStats", "revenue", "uplift", "conversionTracking"] {
        assert_eq!(stats[name], Value::Null, "{name}");
    }
}

#[expect(clippy::too_many_lines, reason = "one scenario in order")]
#[tokio::test]
async fn a_persons_timeline_lists_messages_in_order_with_outcomes() {
    let workspace = in_euros().await;
    let (external, user) = person(&workspace).await;
    let counted = json!({"primaryConversion": {"eventName": "Order Completed"}});
    let id = campaign(&workspace, json!({"conversionTracking": counted})).await;
    let at = |kind, hours| message_event(id, &user, kind, hour(hours));
    let mut click = at(K::Clicked, 5).on("https://shop.example.test/");
    click.label = "Shop".to_owned();
    let mut bounced = at(K::Bounced, 40).nth(2).because("5.1.1", "no such user");
    bounced.label = "hard".to_owned();
    let all = [
        at(K::Queued, 0),
        at(K::Held, 1).because("quiet_hours", "until 08:00"),
        at(K::Sent, 2),
        at(K::Delivered, 3),
        at(K::Opened, 4),
        click,
        at(K::Queued, 30).nth(2),
        at(K::Sent, 31).nth(2),
        bounced,
    ];
    publish(&workspace, &all).await;
    let order = json!({
        "eventName": "Order Completed", "userId": external, "timestamp": iso(hour(6)),
        "properties": {"orderId": "1", "total": 12.5, "currency": "EUR"},
    });
    track(&workspace, &[order], 1).await;
    let timeline = report(&workspace, id, &format!("recipients/{user}")).await;
    assert_eq!(report(&workspace, id, &format!("recipients/{external}")).await, timeline);
    assert_eq!(timeline["userId"], user);
    let messages = timeline["messages"].as_array().unwrap();
    let reported: Vec<(&Value, &Value)> = messages[0]["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["type"], &it["metadata"]))
        .collect();
    let expected = [
        (json!("queued"), json!({})),
        (json!("held"), json!({"reason": "quiet_hours", "detail": "until 08:00"})),
        (json!("sent"), json!({})),
        (json!("delivered"), json!({})),
        (json!("opened"), json!({})),
        (json!("clicked"), json!({"url": "https://shop.example.test/", "label": "Shop"})),
        (
            json!("converted"),
            json!({"eventName": "Order Completed", "value": 12.5, "currency": "EUR"}),
        ),
    ];
    assert_eq!(
        reported,
        expected.iter().map(|(kind, reported)| (kind, reported)).collect::<Vec<_>>()
    );
    assert_eq!(
        (&messages[0]["status"], &messages[1]["status"]),
        (&json!("clicked"), &json!("bounced"))
    );
    assert_eq!(
        (&messages[0]["variantId"], &messages[0]["channel"]),
        (&json!("a"), &json!("email"))
    );
    assert_eq!(
        messages[1]["events"][2]["metadata"],
        json!({"type": "hard", "code": "5.1.1", "reason": "no such user"})
    );

    // The latest message is what the list shows, deleted or not.
    workspace
        .api
        .send(workspace.api.request(reqwest::Method::DELETE, &format!("/users/{user}")), 204)
        .await;
    let row = report(&workspace, id, "recipients").await["data"][0].clone();
    assert_eq!((&row["userId"], &row["externalId"]), (&json!(user), &json!(external)));
    assert_eq!((&row["status"], &row["occurrence"]), (&json!("bounced"), &json!(2)));
    assert_eq!(
        (&row["failureCode"], &row["failureReason"]),
        (&json!("5.1.1"), &json!("no such user"))
    );
    assert_eq!((&row["sentAt"], &row["deliveredAt"]), (&json!(iso(hour(31))), &Value::Null));
    assert_eq!(row["skipReason"], Value::Null);
    assert_eq!(report(&workspace, id, "recipients?status=clicked").await["data"], json!([]));
}

#[tokio::test]
async fn orders_at_the_same_time_keep_their_own_values() {
    let workspace = in_euros().await;
    let (external, user) = person(&workspace).await;
    let counted = json!({
        "primaryConversion": {"eventName": "Order Completed"},
        "secondaryConversions": [{"eventName": "Order Completed",
            "conditions": [{"field": "total", "operator": "gte", "value": 20}]}],
    });
    let id = campaign(&workspace, json!({"conversionTracking": counted})).await;
    publish(&workspace, &[message_event(id, &user, K::Sent, hour(2))]).await;
    let order = |order: &str, total: f64, currency: &str| {
        json!({
            "eventName": "Order Completed", "userId": external, "timestamp": iso(hour(6)),
            "properties": {"orderId": order, "total": total, "currency": currency},
        })
    };
    let orders = [order("1", 12.5, "EUR"), order("2", 30.0, "EUR"), order("3", 7.25, "USD")];
    track(&workspace, &orders, orders.len()).await;
    let timeline = report(&workspace, id, &format!("recipients/{user}")).await;
    let events = timeline["messages"][0]["events"].as_array().unwrap();
    let converted = events.iter().filter(|it| it["type"] == "converted");
    let mut reported: Vec<String> = converted
        .map(|it| format!("{} {}", it["metadata"]["value"], it["metadata"]["currency"]))
        .collect();
    reported.sort();
    // The greater one is what both goals are about.
    assert_eq!(reported, ["12.5 \"EUR\"", "30.0 \"EUR\"", "30.0 \"EUR\"", "7.25 \"USD\""]);
    assert!(events.iter().all(|it| it["type"] == "sent" || it["timestamp"] == iso(hour(6))));
}

#[tokio::test]
async fn a_skipped_message_reports_the_rule_as_reason() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({})).await;
    for code in ["no_address", "channel_consent"] {
        let (_, user) = person(&workspace).await;
        let skipped = message_event(id, &user, K::Skipped, hour(1)).because(code, "in words");
        publish(&workspace, &[message_event(id, &user, K::Queued, hour(0)), skipped]).await;
    }
    let rows = report(&workspace, id, "recipients?status=skipped").await;
    let mut reasons: Vec<&str> = rows["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["skipReason"].as_str().unwrap())
        .collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["channel_consent", "no_address"]);
    // Only what had nowhere to go is a failure.
    assert_eq!(
        report(&workspace, id, "failure-reasons").await,
        json!([{"code": "no_address", "reason": "in words", "count": 1}])
    );
}

#[tokio::test]
async fn invalid_report_queries_are_refused_and_pages_clamped() {
    let workspace = Workspace::new().await;
    let id = campaign(&workspace, json!({})).await;
    for (path, complaint) in [
        ("stats?startDate=soon", "startDate"),
        ("links?startDate=2026-02-02&endDate=2026-02-01", "startDate"),
        ("variant-stats?endDate=2026-13-01", "endDate"),
        ("recipients?status=lost", "status"),
    ] {
        let answer = workspace.api.get(format!("/campaigns/{id}/{path}"), 400).await;
        assert!(answer.errors()[0].starts_with(complaint), "{path}: {}", answer.text);
    }
    for (asked, limit) in [("200", 200), ("201", 200), ("0", 50), ("x", 50)] {
        let page = report(&workspace, id, &format!("recipients?limit={asked}")).await;
        assert_eq!(page["pagination"]["limit"], limit, "{asked}");
    }
    let (_, user) = person(&workspace).await;
    for path in [format!("recipients/{user}"), "recipients/unknown".to_owned()] {
        let answer = workspace.api.get(format!("/campaigns/{id}/{path}"), 404).await;
        assert_eq!(answer.json()["message"], "Recipient not found", "{path}");
    }
    workspace.api.get(format!("/campaigns/{id}/recipients/%00"), 404).await;
    workspace.api.get("/campaigns/no-such-campaign/stats", 404).await;
}
