//! The whole answer of every report about one small, fixed data set, compared with the snapshots.

use std::collections::BTreeMap;

use ingest::record::MessageKind as K;
use kernel::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::fixture::{
    H, TestMessageEvent, campaign, hour, in_euros, iso, message_event, person, publish, report,
    track, variant,
};
use crate::{
    campaigns::{id, made},
    kit::{Workspace, snapshots, unique},
};

const MINUTE: i64 = 60_000;
const RECIPIENTS: usize = 12;

/// Figures estimated by random draws, which begin with the campaign's id.
const DRAWN: [&str; 4] =
    ["allocation", "estimatedLiftVsUniform", "probabilityToBeBest", "valueRemaining"];

/// Replaces what differs from run to run: ids, moments of the run, and the last digits of floating-point numbers,
/// which may differ between machines.
struct Redaction {
    /// Midnight before the first event; taken once, since the day may change during the test.
    start: i64,
    names: BTreeMap<String, String>,
}

impl Redaction {
    fn text(&self, text: &str) -> String {
        if let Some(name) = self.names.get(text) {
            return format!("[{name}]");
        }
        if Uuid::parse_str(text).is_ok() {
            return "[uuid]".to_owned();
        }
        if let Some((prefix, id)) = text.rsplit_once('-')
            && Uuid::parse_str(id).is_ok()
        {
            return format!("{prefix}-[uuid]");
        }
        match text.parse::<Timestamp>() {
            Ok(at) if (self.start..self.start + 216 * H).contains(&at.millis()) => {
                format!("[start + {} min]", (at.millis() - self.start) / MINUTE)
            }
            Ok(_) => "[time of the run]".to_owned(),
            Err(_) => text.to_owned(),
        }
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(number) if number.is_f64() => {
                json!((number.as_f64().unwrap() * 1e6).round() / 1e6)
            }
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let redacted = |name: &str, field: &Value| match field {
                    Value::Number(_) if DRAWN.contains(&name) => json!("[drawn]"),
                    // By random draws of which the campaign's id is the seed.
                    Value::Object(_)
                        if name.starts_with("incrementalRevenue") || name == "incremental" =>
                    {
                        json!({"value": self.value(&field["value"]), "others": "[drawn]"})
                    }
                    _ => self.value(field),
                };
                fields.iter().map(|(name, field)| (name.clone(), redacted(name, field))).collect()
            }
            other => other.clone(),
        }
    }
}

/// Recipients in the order of their internal ids, which is that of the reports.
async fn recipients(workspace: &Workspace) -> Vec<(String, String)> {
    let mut recipients = Vec::new();
    for _ in 0..RECIPIENTS {
        recipients.push(person(workspace).await);
    }
    recipients.sort_by(|one, other| one.1.cmp(&other.1));
    recipients
}

/// Every kind of event, over two occurrences, with a test message and a machine's open among them.
fn message_events(
    campaign: Uuid,
    recipients: &[(String, String)],
    start: i64,
) -> Vec<TestMessageEvent> {
    let mut all = Vec::new();
    for (number, (_, user)) in (0_i64..).zip(recipients) {
        let queued = start + number * MINUTE;
        let variant = if number % 2 == 0 { "a" } else { "b" };
        let at = |kind, minute: i64| {
            message_event(campaign, user, kind, queued + minute * MINUTE).of(variant)
        };
        all.push(at(K::Queued, 0));
        match number {
            0 => all.push(at(K::Skipped, 1).because("channel_consent", "no consent to email")),
            1 => all.push(at(K::Failed, 1).because("550", "mailbox unavailable")),
            2 => all.push(at(K::Cancelled, 1)),
            3 => {
                let bounce = at(K::Bounced, 20).because("5.1.1", "no such user");
                all.extend([
                    at(K::Sent, 1),
                    TestMessageEvent { label: "hard".to_owned(), ..bounce },
                ]);
            }
            4 | 5 => all.extend([at(K::Control, 0).of("control")]),
            6 => {
                let held = at(K::Held, 1).because("quiet_hours", "until 08:00");
                let sent = [at(K::Sent, 480), at(K::Delivered, 481), at(K::Complained, 600)];
                all.push(held);
                all.extend(sent);
            }
            _ => {
                let open = at(K::Opened, 10 * number);
                let machine = TestMessageEvent { is_bot: true, ..at(K::Opened, 3) };
                all.extend([at(K::Sent, 1), at(K::Delivered, 2), machine, open]);
            }
        }
        if number >= 9 {
            let click = at(K::Clicked, 20 * number).on("https://shop.example.test/sale");
            all.push(TestMessageEvent { label: "Sale".to_owned(), ..click });
            all.push(at(K::Queued, 1440).nth(2));
            all.push(at(K::Sent, 1441).nth(2));
        }
        if number == 11 {
            all.push(at(K::Clicked, 400).on("https://shop.example.test/?size=m"));
            all.push(at(K::Unsubscribed, 500));
            all.push(TestMessageEvent { is_test: true, ..at(K::Sent, 2).nth(9) });
        }
    }
    all
}

/// Orders of some recipients, in two currencies.
fn orders(recipients: &[(String, String)], start: i64) -> Vec<Value> {
    [(5, 3, 40.0, "EUR"), (8, 5, 19.5, "EUR"), (9, 6, 60.25, "EUR"), (11, 30, 12.0, "USD")]
        .iter()
        .map(|(recipient, hours, total, currency)| {
            json!({
                "eventName": "Order Completed", "userId": recipients[*recipient].0,
                "timestamp": iso(start + hours * H),
                "properties": {"orderId": format!("o{recipient}"), "total": total, "currency": currency},
            })
        })
        .collect()
}

fn compare(name: &str, answer: &Value) {
    snapshots("snapshots").bind(|| insta::assert_json_snapshot!(name, answer));
}

#[tokio::test]
async fn reports_of_an_email_campaign_match_the_snapshots() {
    let (workspace, start) = (in_euros().await, hour(0));
    let recipients = recipients(&workspace).await;
    let variants =
        json!([variant("a", 45, false), variant("b", 45, false), variant("control", 10, true)]);
    let goals = json!({
        "primaryConversion": {"eventName": "Order Completed"},
        "secondaryConversions": [{"eventName": "Order Completed",
            "conditions": [{"field": "total", "operator": "gte", "value": 20}]}],
        "conversionWindowHours": 48, "attributionModel": "last_touch",
    });
    let campaign =
        campaign(&workspace, json!({"variants": variants, "conversionTracking": goals})).await;
    publish(&workspace, &message_events(campaign, &recipients, start)).await;
    let orders = orders(&recipients, start);
    track(&workspace, &orders, orders.len()).await;

    let mut names = BTreeMap::from([(campaign.to_string(), "campaign".to_owned())]);
    for (number, (external, internal)) in recipients.iter().enumerate() {
        names.insert(external.clone(), format!("external id {number}"));
        names.insert(internal.clone(), format!("user {number}"));
        names.insert(format!("{external}@example.test"), format!("address {number}"));
    }
    let redaction = Redaction { start, names };
    let timeline = format!("recipients/{}", recipients[11].0);
    for (name, path) in [
        ("stats", "stats"),
        ("variant_stats", "variant-stats"),
        ("links", "links"),
        ("failure_reasons", "failure-reasons"),
        ("time_to_engage", "time-to-engage"),
        ("send_occurrences", "send-occurrences"),
        ("recipients", "recipients"),
        ("recipient", timeline.as_str()),
    ] {
        compare(name, &redaction.value(&report(&workspace, campaign, path).await));
    }
}

#[tokio::test]
async fn reports_of_an_in_app_campaign_match_the_snapshots() {
    let (workspace, start) = (Workspace::new().await, hour(0));
    let body = json!({
        "name": unique("in-app"), "channel": "in_app",
        "variants": [{"id": "a", "name": "A", "weight": 100, "customContent": {
            "mode": "native", "title": "Hello",
            "buttons": [{"id": "go", "text": "Go", "action": "url", "url": "https://x.test/"}]}}],
    });
    let campaign: Uuid = id(&made(&workspace.api, &body).await).parse().unwrap();
    let mut users = [person(&workspace).await, person(&workspace).await];
    users.sort_by(|one, other| one.1.cmp(&other.1));
    let shown = |user: usize, kind, minute: i64, platform, button, event: &str| TestMessageEvent {
        platform,
        button,
        event_id: event.to_owned(),
        ..message_event(campaign, &users[user].1, kind, start + minute * MINUTE)
    };
    let events = [
        shown(0, K::Impression, 0, "web", "", "i1"),
        shown(0, K::Clicked, 1, "web", "go", "c1"),
        shown(0, K::Impression, 10, "ios", "", "i2"),
        shown(0, K::Dismissed, 11, "ios", "", "d1"),
        shown(1, K::Impression, 20, "web", "", "i3"),
    ];
    publish(&workspace, &events).await;
    let mut names = BTreeMap::from([(campaign.to_string(), "campaign".to_owned())]);
    for (number, (external, internal)) in users.iter().enumerate() {
        names.insert(external.clone(), format!("external id {number}"));
        names.insert(internal.clone(), format!("user {number}"));
    }
    let redaction = Redaction { start, names };
    for (name, path) in [("in_app_stats", "in-app-stats"), ("impressions", "impressions")] {
        compare(name, &redaction.value(&report(&workspace, campaign, path).await));
    }
}

/// Of a campaign that learns, with outcomes already recorded for its two variants.
#[tokio::test]
async fn the_report_of_a_learning_campaign_matches_the_snapshot() {
    let (workspace, start) = (Workspace::new().await, hour(0));
    let mut body = crate::campaigns::triggered(&unique("learning"));
    let of = |id: &str| {
        let mut variant = body["variants"][0].clone();
        (variant["id"], variant["weight"]) = (json!(id), json!(50));
        variant
    };
    body["variants"] = json!([of("a"), of("b")]);
    let made = made(&workspace.api, &body).await;
    let path = format!("/campaigns/{}/launch-rl", id(&made));
    workspace.api.post(&path, &json!({"rewardWindowHours": 24}), 200).await;
    let outcomes = r"update campaign set rl = jsonb_set(jsonb_set(jsonb_set(jsonb_set(rl,
               '{arms,0,sends}', '1000'), '{arms,0,rewards}', '200'),
               '{arms,1,sends}', '1000'), '{arms,1,rewards}', '230')
           where workspace_id = $1 and id = $2";
    crate::campaigns::sql(&workspace, &made, outcomes).await;
    let campaign: Uuid = id(&made).parse().unwrap();
    let names = BTreeMap::from([(campaign.to_string(), "campaign".to_owned())]);
    let answer = report(&workspace, campaign, "rl-stats").await;
    compare("rl_stats", &Redaction { start, names }.value(&answer));
}
