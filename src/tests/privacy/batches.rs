//! Many people are erased together. What is stored of each is treated as their own request says.

use serde_json::{Value, json};

use super::{ended, request, workspace};
use crate::kit::{Client, Workspace, eventually};

/// More than two groups of a transaction, so one group is full however the requests fall into batches.
const PEOPLE: usize = 450;

fn is_anonymised(n: usize) -> bool {
    n.is_multiple_of(3)
}

async fn totals(api: &Client) -> Value {
    let series = json!([
        {"eventName": "Seen", "metric": "count"},
        {"eventName": "Seen", "metric": "unique"},
        {"eventName": "Seen", "metric": "sum", "field": "total"},
    ]);
    let question =
        json!({"series": series, "from": "2026-03-01", "to": "2026-03-31", "interval": "none"});
    let answer = api.post("/insights/trends", &question, 200).await.json();
    let series = answer["series"].as_array().unwrap();
    series.iter().map(|it| it["total"].clone()).collect()
}

async fn make_people(api: &Client) {
    let users: Vec<Value> = (0..PEOPLE)
        .map(|n| json!({"externalId": format!("p{n}"), "email": format!("p{n}@example.test")}))
        .collect();
    api.post("/users", &json!(users), 200).await;
    for n in [0, PEOPLE - 1] {
        let found = api.get(format!("/users/by-user-id/p{n}"), 200).await.json();
        let path =
            format!("/subscriptions/contacts/{}/channels/email", found["id"].as_str().unwrap());
        let body = json!({"channel": "email", "status": "unsubscribed"});
        api.send(api.request(reqwest::Method::PUT, &path).json(&body), 200).await;
    }
    let events: Vec<Value> = (0..PEOPLE * 2)
        .map(|n| {
            json!({
                "userId": format!("p{}", n / 2), "eventName": "Seen", "timestamp": "2026-03-04T05:06:07Z",
                "properties": {"total": 1, "note": "personal"},
            })
        })
        .collect();
    for part in events.chunks(300) {
        api.post("/events/track", &json!(part), 200).await;
    }
    let all = json!([PEOPLE * 2, PEOPLE, PEOPLE * 2]);
    eventually("events are stored", || async { (totals(api).await == all).then_some(()) }).await;
}

async fn is_unsubscribed(api: &Client, n: usize) -> bool {
    let body = json!({"externalId": format!("again{n}"), "email": format!("p{n}@example.test")});
    let made = api.post("/users", &body, 201).await.json();
    let path = format!("/subscriptions/contacts/{}", made["id"].as_str().unwrap());
    api.get(path, 200).await.text.contains("unsubscribed")
}

#[tokio::test]
async fn people_erased_together_keep_their_own_opt_outs_and_anonymised_events_of_each_stay_apart() {
    let workspace = workspace().await;
    let api = &workspace.api;
    make_people(api).await;
    let mut ids = Vec::new();
    for n in 0..PEOPLE {
        let events = if is_anonymised(n) { "anonymize" } else { "delete" };
        let body = json!({"type": "erase", "externalId": format!("p{n}"), "events": events});
        ids.push(request(api, &body).await);
    }
    for id in &ids {
        assert_eq!(ended(api, id).await["state"], "done");
    }
    let kept = (0..PEOPLE).filter(|n| is_anonymised(*n)).count();
    assert_eq!(totals(api).await, json!([kept * 2, kept, kept * 2]));
    let left = api.get("/events/query?limit=1000", 200).await;
    assert!(!left.text.contains("personal"), "{}", left.text);
    assert_eq!(api.get("/users", 200).await.json()["pagination"]["total"], 0);
    for (n, expected) in [(0, true), (1, false), (PEOPLE - 2, false), (PEOPLE - 1, true)] {
        assert_eq!(is_unsubscribed(api, n).await, expected, "p{n}");
    }
}

/// Links this many anonymous ids to a person, as that many browsers do.
async fn link(workspace: &Workspace, user: &Value, ids: i32) {
    sqlx::query(
        "insert into identity (workspace_id, type, id, user_id, linked_at, source)
         select $1, 'anonymous', $2 || '-' || n, decode($2, 'hex'), now(), 'identify'
         from generate_series(1, $3) n",
    )
    .bind(workspace.id.uuid())
    .bind(user.as_str().unwrap())
    .bind(ids)
    .execute(&workspace.server.db())
    .await
    .unwrap();
}

/// ClickHouse takes statements of 2 MiB, some 16,000 identifiers.
#[tokio::test]
async fn a_person_with_more_identifiers_than_a_statement_takes_is_erased() {
    const IDS: i32 = 20_000;
    let workspace = workspace().await;
    let api = &workspace.api;
    let mut erased = Vec::new();
    for (name, fate) in [("ann", "anonymize"), ("bob", "delete")] {
        let made = api.post("/users", &json!({"externalId": name}), 201).await.json();
        link(&workspace, &made["id"], IDS).await;
        let id = made["id"].as_str().unwrap();
        let event = |identifier: Value| {
            let mut event = json!({
                "eventName": "Seen", "timestamp": "2026-03-04T05:06:07Z",
                "properties": {"total": 1, "note": "personal"},
            });
            event.as_object_mut().unwrap().extend(identifier.as_object().unwrap().clone());
            event
        };
        let all = json!([
            event(json!({"userId": name})),
            event(json!({"anonymousId": format!("{id}-1")})),
            event(json!({"anonymousId": format!("{id}-{IDS}")})),
            event(json!({"userId": name, "anonymousId": format!("{id}-{IDS}")})),
        ]);
        api.post("/events/track", &all, 200).await;
        erased.push(json!({"type": "erase", "externalId": name, "events": fate}));
    }
    let all = json!([8, 2, 8]);
    eventually("events are stored", || async { (totals(api).await == all).then_some(()) }).await;
    for body in &erased {
        let id = request(api, body).await;
        assert_eq!(ended(api, &id).await["state"], "done");
    }
    assert_eq!(totals(api).await, json!([4, 1, 4]));
    let left = api.get("/events/query?limit=1000", 200).await;
    assert!(!left.text.contains("personal"), "{}", left.text);
}
