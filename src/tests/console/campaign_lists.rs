//! What is listed of a campaign: recipients, sendings, what was learnt, displays in apps, and a report without messages.

use ingest::record::MessageKind as K;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    campaigns::{has, made, webhook},
    kit::Person,
};
use crate::{
    campaigns::triggered,
    kit::{Workspace, eventually},
    stats::fixture::{
        TestMessageEvent, campaign, hour, in_euros, message_event, person, publish, variant,
    },
};

#[tokio::test]
async fn a_campaign_without_messages_has_no_numbers_and_no_verdict() {
    let workspace = Workspace::new().await;
    let reader = Person::signed_in(&workspace, "*").await;
    let address = made(&workspace, &webhook("New")).await;
    let seen = reader.get(&format!("{address}/report?numbers=on")).await;
    has(&seen, &["No messages yet", "It has not been launched.", &format!("{address}/launch")]);
    for absent in ["100.0 %", "Is best with", "<svg", "figure-value"] {
        assert!(!seen.text.contains(absent), "{absent}: {}", seen.text);
    }
    has(&reader.get(&format!("{address}/recipients")).await, &["No recipients"]);

    // A single variant has nothing to be better than.
    let id = campaign(&workspace, json!({"variants": [variant("a", 100, false)]})).await;
    publish(&workspace, &[message_event(id, &user(1), K::Sent, hour(0))]).await;
    let seen = reader.get(&format!("/console/campaigns/{id}/report?numbers=on")).await;
    let row = seen.between("<bdi>A</bdi>", "</tr>");
    assert!(row.contains("<td class=\"number\">–</td>") && !row.contains(">100.0 %<"), "{row}");
    // Nor has one of several as long as another has no messages.
    let both = json!({"variants": [variant("a", 50, false), variant("b", 50, false)]});
    let id = campaign(&workspace, both).await;
    publish(&workspace, &[message_event(id, &user(1), K::Sent, hour(0))]).await;
    let seen = reader.get(&format!("/console/campaigns/{id}/report?numbers=on")).await;
    let row = seen.between("<bdi>A</bdi>", "</tr>");
    assert!(row.contains("<td class=\"number\">–</td>") && !row.contains(">100.0 %<"), "{row}");
}

fn user(number: usize) -> String {
    format!("{:024x}", 0x6000_0000 + number)
}

#[tokio::test]
async fn recipients_are_listed_by_the_state_of_their_latest_message() {
    let workspace = in_euros().await;
    let id = campaign(&workspace, json!({"variants": [variant("a", 100, false)]})).await;
    let (external, internal) = person(&workspace).await;
    let mut all: Vec<TestMessageEvent> =
        (0..60).map(|number| message_event(id, &user(number), K::Sent, hour(0))).collect();
    all.push(message_event(id, &internal, K::Failed, hour(0)).because("550", "<b>no such box"));
    publish(&workspace, &all).await;
    let reader = Person::signed_in(&workspace, "campaigns:read").await;
    let address = format!("/console/campaigns/{id}/recipients");
    let first = reader.get(&address).await;
    has(&first, &["61 recipients", "rel=\"next\"", "offset=50"]);
    assert_eq!(first.text.matches(&format!("/console/campaigns/{id}/report?person=")).count(), 50);
    let second = reader.get(&format!("{address}?offset=50")).await;
    assert_eq!(second.text.matches(&format!("/console/campaigns/{id}/report?person=")).count(), 11);
    has(&second, &["rel=\"prev\""]);
    let failed = reader.get(&format!("{address}?status=failed")).await;
    has(
        &failed,
        &[
            "1 recipients",
            &format!("<a href=\"/console/people/{internal}\"><bdi>{external}</bdi></a>"),
            "<span class=\"badge bad\">Failed</span>",
            "550",
            "&lt;b&gt;no such box",
        ],
    );
    has(&reader.get(&format!("{address}?status=clicked")).await, &["any state"]);
    has(&reader.get(&format!("{address}?status=none")).await, &["role=\"alert\""]);
}

#[tokio::test]
async fn sendings_have_a_row_each() {
    let workspace = in_euros().await;
    let id = campaign(&workspace, json!({"variants": [variant("a", 100, false)]})).await;
    let of = |kind, occurrence, number| {
        message_event(id, &user(number), kind, hour(i64::from(occurrence))).nth(occurrence)
    };
    publish(&workspace, &[of(K::Sent, 1, 1)]).await;
    let reader = Person::signed_in(&workspace, "campaigns:read").await;
    let report = format!("/console/campaigns/{id}/report?numbers=on");
    assert!(!reader.get(&report).await.text.contains("<h2>Sendings"), "one is no list");
    publish(&workspace, &[of(K::Sent, 2, 1), of(K::Sent, 2, 2), of(K::Opened, 2, 2)]).await;
    let api = workspace.api.get(format!("/campaigns/{id}/send-occurrences"), 200).await.json();
    assert_eq!((&api["total"], &api["data"][0]["occurrence"]), (&json!(2), &json!(2)));
    let seen = reader.get(&report).await;
    let rows = seen.between("<h2>Sendings", "</table>");
    has(&seen, &["<h2>Sendings"]);
    assert!(rows.contains(">2</td>") && rows.contains(">1 (50.0 %)</td>"), "{rows}");
}

#[tokio::test]
async fn what_a_campaign_learnt_is_in_its_report() {
    let workspace = Workspace::new().await;
    let mut body = triggered("Learns");
    let of = |id: &str| {
        let mut variant = body["variants"][0].clone();
        (variant["id"], variant["name"]) = (json!(id), json!(format!("<i>{id}")));
        variant["weight"] = json!(50);
        variant
    };
    body["variants"] = json!([of("a"), of("b")]);
    let address = made(&workspace, &body).await;
    let id = address.rsplit('/').next().unwrap();
    let reader = Person::signed_in(&workspace, "*").await;
    let report = format!("{address}/report?numbers=on");
    assert!(!reader.get(&report).await.text.contains("<h2>Learning"));
    workspace.api.post(&format!("/campaigns/{id}/launch-rl"), &json!({}), 200).await;
    let seen = reader.get(&report).await;
    has(&seen, &["<h2>Learning", "Every variant is still being tried.", "<bdi>&lt;i&gt;a</bdi>"]);
    // Without a message there is no best one.
    let arms = seen.between("Variants that are learnt about</caption>", "</table>");
    assert_eq!(arms.matches("<td class=\"number\">50.0 %</td>").count(), 2, "shares alone: {arms}");

    let outcomes = r"update campaign set rl = jsonb_set(jsonb_set(jsonb_set(jsonb_set(rl,
               '{arms,0,sends}', '1000'), '{arms,0,rewards}', '200'),
               '{arms,1,sends}', '1000'), '{arms,1,rewards}', '230')
           where workspace_id = $1 and id = $2";
    crate::campaigns::sql(&workspace, &json!({"id": id}), outcomes).await;
    let api = workspace.api.get(format!("/campaigns/{id}/rl-stats"), 200).await.json();
    let best = api["arms"][1]["probabilityToBeBest"].as_f64().unwrap();
    assert!(best > 0.5, "{api}");
    let body = json!({"variantIds": ["b"]});
    let warmth = workspace.api.post("/campaigns/ml-path-warmth", &body, 200).await.json();
    let b = &warmth["items"][0];
    assert_eq!((&b["observations"], &b["required"]), (&json!(1000), &json!(100)), "{warmth}");
    let best = format!("<td class=\"number\">{:.1} %</td>", best * 100.0);
    // The report before is given for a second: nothing was changed in the console since.
    let seen = eventually("the report is new", || async {
        let seen = reader.get(&report).await;
        seen.text.contains(&best).then_some(seen)
    })
    .await;
    has(&seen, &[">1,000 of 100</td>", "Rewards a message, with intervals"]);
}

/// An in-app message that apps displayed.
async fn displayed(workspace: &Workspace, people: &[(String, String)]) -> Uuid {
    let content = json!({"mode": "native", "title": "Hi", "buttons": [{"id": "go", "text": "<u>Go", "action": "dismiss"}]});
    let body = json!({"name": "Banner", "channel": "in_app", "sendType": "immediate", "variants": [
        {"id": "a", "name": "A", "weight": 100, "customContent": content}]});
    let made = workspace.api.post("/campaigns", &body, 201).await.json();
    let id: Uuid = made["id"].as_str().unwrap().parse().unwrap();
    let shown = |person: usize, kind, at: i64, button, event: &str| {
        message_event(id, &people[person].1, kind, hour(0) + at).in_app(button, event)
    };
    let events = [
        shown(0, K::Impression, 0, "", "i1"),
        shown(0, K::Clicked, 1_000, "go", "c1"),
        shown(1, K::Impression, 2_000, "", "i2"),
    ];
    publish(workspace, &events).await;
    id
}

#[tokio::test]
async fn displays_in_apps_are_reported_and_listed() {
    let workspace = in_euros().await;
    let people = [person(&workspace).await, person(&workspace).await];
    let id = displayed(&workspace, &people).await;
    let reader = Person::signed_in(&workspace, "campaigns:read").await;
    let api = workspace.api.get(format!("/campaigns/{id}/in-app-stats"), 200).await.json();
    assert_eq!((&api["impressions"], &api["uniqueClicks"]), (&json!(2), &json!(1)));
    let seen = reader.get(&format!("/console/campaigns/{id}/report?numbers=on")).await;
    has(
        &seen,
        &["<h2>Displays", "People who clicked, 50.0 %", "<bdi>&lt;u&gt;Go</bdi>", "<td>web</td>"],
    );
    let list = reader.get(&format!("/console/campaigns/{id}/recipients")).await;
    has(&list, &["2 displays", &people[0].0, &people[1].0, "click <code>go</code>"]);
    // Before any app has asked.
    let body: Value = json!({"name": "Later", "channel": "in_app", "variants": []});
    let address = made(&workspace, &body).await;
    let seen = reader.get(&format!("{address}/report?numbers=on")).await;
    has(&seen, &["No app has displayed it yet"]);
}

#[tokio::test]
async fn the_best_hours_of_an_audience_are_shown_before_a_launch() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "email": "ann@example.test"});
    workspace.api.post("/users", &ann, 201).await;
    let mut body = crate::campaigns::email("Best");
    body["sendType"] = json!("intelligent");
    let address = made(&workspace, &body).await;
    let person = Person::signed_in(&workspace, "*").await;
    let seen = person.get(&format!("{address}/launch")).await;
    has(&seen, &["<h2>Best hours", "The best hour of <strong>0</strong> of 1 people is known"]);
}

#[tokio::test]
async fn a_failed_campaign_is_tried_again_only_where_that_is_confirmed() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let address = made(&workspace, &webhook("Broken")).await;
    let campaign = super::campaigns::of(&workspace, &address).await;
    crate::campaigns::force(&workspace, &campaign, "failed", None).await;
    has(&person.get(&address).await, &["It failed: a reason", "Try this campaign again?"]);
    let retry = format!("{address}/do/retry");
    assert_eq!(person.post(&retry, &[]).await.status, 400);
    assert_eq!(super::campaigns::of(&workspace, &address).await["status"], "failed");
    assert_eq!(person.post(&retry, &[("confirm", "Broken")]).await.status, 303);
    assert_ne!(super::campaigns::of(&workspace, &address).await["status"], "failed");
}

/// A message that is refused at once has failed and bounced, and is one of those that did either.
#[tokio::test]
async fn the_list_and_the_report_count_a_refused_message_once() {
    let workspace = Workspace::new().await;
    let reader = Person::signed_in(&workspace, "*").await;
    let config = json!({"type": "event", "eventName": "Signed Up"});
    let id = campaign(&workspace, json!({"sendType": "triggered", "triggerConfig": config})).await;
    workspace.api.post(&format!("/campaigns/{id}/send"), &json!({}), 200).await;
    let mut all = Vec::new();
    for number in 0..60 {
        let of = |kind, at| message_event(id, &user(number), kind, hour(at)).of("a");
        all.push(of(K::Queued, 0));
        match number {
            0..5 => all.extend([
                of(K::Failed, 1).because("550", "no such user"),
                of(K::Bounced, 1).because("5.1.1", "no such user"),
            ]),
            5 => all.extend([of(K::Sent, 1), of(K::Bounced, 2)]),
            _ => all.extend([of(K::Sent, 1), of(K::Delivered, 1)]),
        }
    }
    publish(&workspace, &all).await;
    let stats = workspace.api.get(format!("/campaigns/{id}/stats"), 200).await.json();
    let stats = &stats["stats"];
    assert_eq!(
        [&stats["sent"], &stats["failed"], &stats["bounced"], &stats["failedOrBounced"]],
        [55, 5, 6, 6],
        "{stats}"
    );
    let list = reader.get("/console/campaigns?rates=on").await;
    has(&list, &["<span class=\"badge bad\">10.0 %</span>"]);
    let report = reader.get(&format!("/console/campaigns/{id}/report?numbers=on")).await;
    for (name, cells) in [
        ("Tried", [">60<", ">–<", ">100.0 %<"]),
        ("Failed", [">5<", ">–<", ">8.3 %<"]),
        ("Bounced", [">6<", ">–<", ">10.0 %<"]),
        ("Failed or bounced", [">6<", ">–<", ">10.0 %<"]),
    ] {
        let row = report.between(&format!("<td>{name}</td>"), "</tr>");
        assert!(cells.iter().all(|cell| row.contains(cell)), "{name}: {row}");
    }
}
