//! `GET /events/rejected`: refused events are listed for seven days, of each workspace the newest.

use kernel::{Clock, Timestamp};
use serde_json::{Value, json};

use crate::{
    kit::{Client, TestServer, Workspace, data_dir, eventually, run, server, settings, unique},
    sdk::Device,
};

const NO_USER: &str = "userId, serviceUserId, anonymousId or userAlias is required";

/// The list of a workspace once so many are counted.
async fn listed(client: &Client, query: &str, total: u64) -> Value {
    eventually("the refused events are listed", || async {
        let list = client.get(format!("/events/rejected{query}"), 200).await.json();
        (list["total"].as_u64().unwrap() >= total).then_some(list)
    })
    .await
}

fn names(list: &Value) -> Vec<&str> {
    list["data"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_refused_event_of_a_request_is_listed_newest_first() {
    let workspace = Workspace::new().await;
    let (token, _) = server().key(&workspace.name, "events:*").await;
    let key = token.split('_').nth(1).unwrap();
    let api = Client::new(&server().url, Some(&token));
    let before = Clock::system().now();
    assert_eq!(api.get("/events/rejected", 200).await.json(), json!({"data": [], "total": 0}));

    let body = r#"[{"userId":"ann","eventName":"A"},{ "eventName":"B","clientEventId":"c-1" },7]"#;
    api.post_bytes("/events/track", body, 200).await;
    listed(&api, "", 2).await;
    // What is no event at all is not listed, nor what could not be read.
    api.post_bytes("/events/track", "{", 400).await;
    api.post_bytes("/events/track", "[]", 400).await;
    let long =
        format!(r#"{{"userId":"bob","timestamp":"soon\u0000","x":"{}"}}"#, "x".repeat(3_000));
    api.post_bytes("/events/track", long.clone(), 400).await;
    let list = listed(&api, "", 3).await;
    assert_eq!(list["total"], 3);
    let mut data = list["data"].as_array().unwrap().clone();
    for event in &mut data {
        let at = event.as_object_mut().unwrap().remove("at").unwrap();
        let at = Timestamp::parse(at.as_str().unwrap()).unwrap();
        assert!(at >= before && at <= Clock::system().now(), "{at:?}");
    }
    assert_eq!(data[0]["userId"], "bob");
    assert_eq!(data[0]["body"], long[..2_048]);
    assert_eq!(data[0]["reason"].as_str().unwrap().split("; ").count(), 2);
    let expected = [
        json!({
            "name": null, "userId": null, "messageId": null, "keyId": key, "body": "7",
            "reason": "event must be an object",
        }),
        json!({
            "name": "B", "userId": null, "messageId": "c-1", "keyId": key, "reason": NO_USER,
            "body": r#"{ "eventName":"B","clientEventId":"c-1" }"#,
        }),
    ];
    assert_eq!(data[1..], expected);

    let device = Device::of(&workspace).await;
    device.post("/v1/track", &json!([{"eventName": "D"}, named("E")]), 200).await;
    device.post("/v1/track", &json!({"eventName": "F"}), 400).await;
    let user = json!({"externalId": unique("bob"), "events": [{"name": "G", "timestamp": "soon"}]});
    workspace.api.post("/users", &user, 201).await;
    let list = listed(&api, "?limit=3", 6).await;
    assert_eq!(names(&list), ["G", "F", "D"]);
    assert_eq!(list["data"][0]["userId"], user["externalId"]);
    assert_ne!(list["data"][1]["keyId"], key);
}

#[tokio::test]
async fn a_key_that_was_sent_in_the_body_is_not_listed() {
    let workspace = Workspace::new().await;
    let (token, _) = server().key(&workspace.name, "events:*").await;
    let public = format!("mr_{}", token.split('_').nth(1).unwrap());
    let secret = token.strip_prefix(&format!("{public}_")).unwrap();
    let sender = Client::new(&server().url, None);
    let segment = json!({"writeKey": token, "type": "track", "event": "A"});
    sender.post("/v1/t", &segment, 200).await;
    let posthog = json!({"api_key": token, "event": "B", "properties": {"token": token}});
    sender.post("/i/v0/e/", &posthog, 200).await;
    let list = listed(&workspace.api, "", 2).await.to_string();
    assert!(list.contains(&format!("{public}_[redacted]")), "{list}");
    assert!(!list.contains(secret), "{list}");
}

fn named(name: &str) -> Value {
    json!({"userId": "ann", "eventName": name})
}

#[tokio::test]
async fn the_list_has_limits_and_belongs_to_its_workspace() {
    let (here, there) = (Workspace::new().await, Workspace::new().await);
    for number in 0..3 {
        let event = json!({"eventName": number.to_string()});
        here.api.post("/events/track", &event, 400).await;
        listed(&here.api, "", number + 1).await;
    }
    let list = here.api.get("/events/rejected?limit=2", 200).await.json();
    assert_eq!((names(&list), &list["total"]), (vec!["2", "1"], &json!(3)));
    for all in ["limit=0", "limit=x", "limit=1001", "limit=3", "since=2020-01-01"] {
        let list = here.api.get(format!("/events/rejected?{all}"), 200).await.json();
        assert_eq!(names(&list), ["2", "1", "0"], "{all}");
    }
    let newest = list["data"][0]["at"].as_str().unwrap();
    let list = here.api.get(format!("/events/rejected?since={newest}"), 200).await.json();
    assert_eq!((names(&list), &list["total"]), (vec!["2"], &json!(1)));
    let list = here.api.get("/events/rejected?since=2999-01-01", 200).await.json();
    assert_eq!(list, json!({"data": [], "total": 0}));
    let answer = here.api.get("/events/rejected?since=yesterday", 400).await;
    assert!(answer.errors()[0].starts_with("since "), "{}", answer.text);
    let other = there.api.get("/events/rejected", 200).await.json();
    assert_eq!(other, json!({"data": [], "total": 0}));
}

#[tokio::test]
async fn of_a_flood_the_newest_are_listed_and_all_are_counted() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let batch = |from: usize| {
        let events = (from..from + 500).map(|number| json!({"eventName": number.to_string()}));
        Value::Array(events.collect())
    };
    // One batch after the other is stored whole, and the oldest make room.
    for sent in [500, 1_000, 1_500] {
        device.post("/v1/track", &batch(sent - 500), 200).await;
        let list = listed(&workspace.api, "?limit=1000", sent as u64).await;
        assert_eq!(list["total"], sent);
        let expected: Vec<String> =
            (sent.saturating_sub(1_000)..sent).rev().map(|number| number.to_string()).collect();
        assert_eq!(names(&list), expected);
    }
    // Of those that come faster than they are stored some are counted only, never the newest.
    for sent in (1_500..6_500).step_by(500) {
        device.post("/v1/track", &batch(sent), 200).await;
    }
    let list = listed(&workspace.api, "?limit=1000", 6_500).await;
    assert_eq!(list["total"], 6_500);
    assert_eq!(list["data"].as_array().unwrap().len(), 1_000);
    assert_eq!(list["data"][0]["name"], "6499");
}

#[tokio::test]
async fn a_flood_with_an_sdk_key_leaves_what_servers_were_refused() {
    let workspace = Workspace::new().await;
    for name in ["first", "second"] {
        workspace.api.post("/events/track", &json!({"eventName": name}), 400).await;
    }
    listed(&workspace.api, "", 2).await;
    let device = Device::of(&workspace).await;
    let batch = Value::Array(vec![json!({"eventName": "app"}); 500]);
    for sent in [502, 1_002, 1_502] {
        device.post("/v1/track", &batch, 200).await;
        let list = listed(&workspace.api, "?limit=1000", sent).await;
        let of_servers: Vec<_> = names(&list).into_iter().filter(|name| *name != "app").collect();
        assert_eq!(of_servers, ["second", "first"], "{sent}");
        assert_eq!(list["total"], sent);
    }
    // In a short list either has its half, and all are on some page.
    let page = async |query: &str| {
        let path = format!("/events/rejected?{query}");
        let list = workspace.api.get(path, 200).await.json();
        names(&list).iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(page("limit=2").await, ["app", "second"]);
    assert_eq!(page("limit=3&offset=2").await, ["app", "app", "first"]);
    assert_eq!(page("limit=1000&offset=1000").await, ["app", "app"]);
    assert_eq!(page("offset=1002").await, [""; 0]);
    // Several at once are more than wait, of apps.
    let refused = json!({"eventName": "third"});
    let floods = (0..4).map(|_| device.post("/v1/track", &batch, 200));
    let (_, _) = tokio::join!(
        futures_util::future::join_all(floods),
        workspace.api.post("/events/track", &refused, 400)
    );
    let list = listed(&workspace.api, "?limit=3", 3_503).await;
    assert!(names(&list).contains(&"third"), "{list}");
}

async fn rows(server: &TestServer) -> i64 {
    let db = server.db();
    let count = async move {
        sqlx::query_scalar(
            "select (select count(*) from rejected_event) + (select count(*) from rejected_event_unlisted)",
        )
        .fetch_one(&db)
        .await
    };
    server.on(count).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_events_are_listed_by_every_process_for_seven_days() {
    const BEGIN: &str = "2031-03-03T00:00:00Z";
    const DAYS_MS: i64 = 7 * 24 * 3_600_000;
    let (one, other, hand) = tokio::task::spawn_blocking(|| {
        let (clock, hand) = Clock::fixed(Timestamp::parse(BEGIN).unwrap());
        let folder = data_dir("rejected-days");
        let one = run(settings(&folder, &[]), clock.clone());
        let mut second = settings(&data_dir("rejected-days-second"), &[]);
        let [(_, database), (_, clickhouse)] = crate::sending::fixture::beside(&folder);
        second.database_url = Some(database.into());
        second.clickhouse_url = Some(clickhouse.into());
        (one, run(second, clock), hand)
    })
    .await
    .unwrap();
    let (token, _) = one.key(&unique("rejected"), "events:*").await;
    let [here, there] = [&one, &other].map(|server| Client::new(&server.url, Some(&token)));
    let events = Value::Array(vec![json!({"eventName": "A"}); 500]);
    let (first, second) = tokio::join!(
        here.post("/events/track", &events, 200),
        there.post("/events/track", &events, 200)
    );
    assert_eq!(first.json()["rejected"], second.json()["rejected"]);
    for client in [&here, &there] {
        assert_eq!(listed(client, "", 1_000).await["total"], 1_000);
    }
    here.post("/events/track", &events, 200).await;
    assert_eq!(listed(&there, "", 1_500).await["total"], 1_500);
    assert_eq!(rows(&one).await, 1_500);

    hand.advance_ms(DAYS_MS);
    let list = here.get("/events/rejected?limit=1", 200).await.json();
    assert_eq!((names(&list), &list["total"]), (vec!["A"], &json!(1_500)));
    hand.advance_ms(1);
    let list = here.get("/events/rejected", 200).await.json();
    assert_eq!(list["data"], json!([]));
    hand.advance_ms(2 * 3_600_000);
    let list = here.get("/events/rejected", 200).await.json();
    assert_eq!(list, json!({"data": [], "total": 0}));
    eventually("they are deleted", || async { (rows(&one).await == 0).then_some(()) }).await;
}
