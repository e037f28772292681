//! Routes and calls of Segment's protocol.

use super::*;

#[tokio::test]
async fn a_batch_of_analytics_node_is_stored_once_however_often_it_is_sent() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let body = |sent_at: &str| {
        json!({"batch": [
            {"timestamp": "2026-11-21T11:59:58.000Z", "integrations": {}, "event": "Order Completed", "type": "track",
                "properties": {"order_id": "o1", "revenue": 12.5, "currency": "EUR"},
                "context": {"library": {"name": "@segment/analytics-node", "version": "3.1.0"}}, "userId": "ann",
                "messageId": "node-next-1", "_metadata": {"nodeVersion": "v20.20.2", "jsRuntime": "node"}},
            {"timestamp": "2026-11-21T11:59:59.000Z", "type": "page", "properties": {"url": "https://x.test/"},
                "name": "Home", "userId": "ann", "messageId": "node-next-2"}],
            "writeKey": sender.key, "sentAt": sent_at})
    };
    let now = Clock::system().now().utc();
    // The first is not known to have arrived; each retry says a new time.
    for later_ms in [0, 900, 40_000] {
        let sent_at = (now + chrono::TimeDelta::milliseconds(later_ms)).to_rfc3339();
        let answer = sender.post("/v1/batch", &body(&sent_at), 200).await;
        assert_eq!(answer.json(), json!({"success": true}));
    }
    sender.batch(&[json!({"type": "track", "event": "Last", "userId": "ann"})]).await;
    let events = events(&workspace, "ann", 3).await;
    assert_eq!(
        (&events[0]["event_name"], &events[0]["event_id"]),
        (&json!("Order Completed"), &json!("node-next-1"))
    );
    let order = properties(&events[0]);
    assert_eq!((&order["orderId"], &order["total"]), (&json!("o1"), &json!(12.5)));
    assert_eq!(order["context"]["library"]["version"], "3.1.0");
    assert_eq!(events[1]["event_name"], "Page Viewed");
    assert_eq!(properties(&events[1])["name"], "Home");
    let asked = json!({"eventName": "Order Completed", "groupBy": "month", "metrics": ["count", "sum"],
        "sumField": "total", "startDate": "2026-11-01"});
    let found = workspace.api.post("/events/aggregate", &asked, 200).await.json();
    assert_eq!(found["data"]["results"][0]["sum_value"], 12.5, "{found}");
}

/// The properties of an event that was read back.
pub(super) fn properties(event: &Value) -> Value {
    match &event["properties"] {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        other => other.clone(),
    }
}

#[tokio::test]
async fn each_route_takes_its_call() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let call = |id: &str| json!({"userId": "ann", "messageId": id, "event": "E", "name": "N"});
    for (path, id) in [
        ("/v1/track", "1"),
        ("/v1/t", "2"),
        ("/v1/page", "3"),
        ("/v1/p", "4"),
        ("/v1/screen", "5"),
        ("/v1/s", "6"),
    ] {
        let answer = sender.post(path, &call(id), 200).await;
        assert_eq!(answer.json(), json!({"success": true}), "{path}");
    }
    for (path, id) in
        [("/v1/batch", "7"), ("/v1/b", "8"), ("/v1/import", "9"), ("/beacon/v1/batch", "10")]
    {
        let mut call = call(id);
        call["type"] = json!("track");
        sender.post(path, &json!({"batch": [call]}), 200).await;
    }
    let events = events(&workspace, "ann", 10).await;
    let mut names: Vec<_> = events.iter().map(|it| it["event_name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names[..6], ["E"; 6]);
    assert_eq!(names[6..], ["Page Viewed", "Page Viewed", "Screen Viewed", "Screen Viewed"]);
    for (path, attribute) in [("/v1/identify", "a"), ("/v1/i", "b")] {
        sender.post(path, &json!({"userId": "ann", "traits": {attribute: 1}}), 200).await;
    }
    for (path, group) in [("/v1/group", "g1"), ("/v1/g", "g2")] {
        sender
            .post(path, &json!({"userId": "ann", "groupId": group, "traits": {"n": group}}), 200)
            .await;
    }
    let user = profile(&workspace, "ann", |it| it["attributes"]["groupId"] == "g2").await;
    assert_eq!(user["attributes"], json!({"a": 1, "b": 1, "groupId": "g2", "group": {"n": "g2"}}));
    for (path, previous) in [("/v1/alias", "x"), ("/v1/a", "y")] {
        sender.post(path, &json!({"userId": "ann", "previousId": previous}), 200).await;
    }
    let ids = identities(&workspace, "ann", 4).await;
    assert_eq!(
        ids[2..],
        [("anonymous".to_owned(), "x".to_owned()), ("anonymous".to_owned(), "y".to_owned())]
    );
}

#[tokio::test]
async fn a_group_has_no_traits_of_the_user_in_its_context() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let context = json!({"traits": {"email": "ann@example.test", "plan": "pro"}});
    let group = json!({"type": "group", "userId": "ann", "groupId": "acme", "context": context});
    sender.batch(&[group]).await;
    let user = profile(&workspace, "ann", |_| true).await;
    assert_eq!(user["attributes"], json!({"groupId": "acme"}));
    assert_eq!(user["email"], Value::Null);
    // Those of identify may stand there.
    sender.batch(&[json!({"type": "identify", "userId": "ann", "context": context})]).await;
    let user = profile(&workspace, "ann", |it| it["email"] == "ann@example.test").await;
    assert_eq!(user["attributes"], json!({"groupId": "acme", "plan": "pro"}));
}

#[tokio::test]
async fn another_group_leaves_no_traits_of_the_one_before() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let group = |user: &str, id: &str, traits: Value| json!({"type": "group", "userId": user, "groupId": id, "traits": traits});
    let last = |user: &str| json!({"type": "identify", "userId": user, "traits": {"last": 1}});
    let is_last = |it: &Value| it["attributes"]["last"] == 1;
    let batches = [
        vec![group("ann", "g1", json!({"name": "Acme"}))],
        vec![group("ann", "g2", Value::Null), last("ann")],
        // The same at once, for others.
        vec![
            group("bob", "g1", json!({"name": "Acme"})),
            group("bob", "g2", json!({})),
            group("cid", "g1", json!({"name": "Acme"})),
            group("cid", "g1", Value::Null),
            group("dan", "g1", Value::Null),
            group("dan", "g2", json!({"name": "Bolt"})),
            group("dan", "g2", json!({})),
            last("bob"),
            last("cid"),
            last("dan"),
        ],
    ];
    for batch in &batches {
        sender.batch(batch).await;
    }
    for (user, expected) in [
        ("ann", json!({"groupId": "g2", "group": {}, "last": 1})),
        ("bob", json!({"groupId": "g2", "group": {}, "last": 1})),
        ("cid", json!({"groupId": "g1", "group": {"name": "Acme"}, "last": 1})),
        ("dan", json!({"groupId": "g2", "group": {"name": "Bolt"}, "last": 1})),
    ] {
        assert_eq!(profile(&workspace, user, is_last).await["attributes"], expected, "{user}");
    }
}

#[tokio::test]
async fn an_order_counts_once_and_with_its_amount_although_a_name_of_ours_is_null() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let order = |id: &str, properties: Value| json!({"type": "track", "event": "Order Completed", "userId": "ann", "messageId": id, "properties": properties});
    sender
        .batch(&[
            order("1", json!({"order_id": "A1", "revenue": 7, "total": null})),
            order("2", json!({"order_id": "A2", "orderId": "", "revenue": 1})),
        ])
        .await;
    let expected = [json!({"orderId": "A1", "total": 7}), json!({"orderId": "A2", "total": 1})];
    let mut stored: Vec<Value> =
        events(&workspace, "ann", 2).await.iter().map(properties).collect();
    stored.sort_by_key(|it| it["orderId"].to_string());
    assert_eq!(stored, expected);
}

/// Waits until a profile has so many identifiers.
pub(super) async fn identities(
    workspace: &Workspace,
    id: &str,
    count: usize,
) -> Vec<(String, String)> {
    profile(workspace, id, |_| true).await;
    eventually("the identifiers are linked", || async {
        let found = workspace.api.get(format!("/users/{id}/identities"), 200).await.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let found: Vec<_> = found["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (text(&it["type"]), text(&it["id"])))
            .collect();
        (found.len() == count).then_some(found)
    })
    .await
}

#[tokio::test]
async fn faulty_calls_are_no_error_and_spoil_no_other() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    let good = json!({"type": "track", "event": "Good", "userId": "ann"});
    sender
        .batch(&[
            json!({"type": "teleport", "userId": "ann"}),
            json!(5),
            json!({"type": "track", "userId": "ann"}),
            json!({"type": "track", "event": "x".repeat(256), "userId": "ann"}),
            json!({"type": "track", "event": "E", "userId": "ann", "properties": "text"}),
            json!({"type": "track", "event": "E", "userId": "ann", "timestamp": "1999-01-01"}),
            json!({"batch": [good]}),
            json!({"type": "identify", "userId": "ann", "traits": {"a": 1}}),
            good,
        ])
        .await;
    sender.batch(&[json!({}), json!({"a": 1})]).await;
    sender.post("/v1/track", &json!({"userId": "ann"}), 200).await;
    let events = events(&workspace, "ann", 1).await;
    assert_eq!(events[0]["event_name"], "Good");
    let found = search(&workspace, "ann").await;
    assert!(found.is_empty(), "the key may not change profiles: {found:?}");
}

#[tokio::test]
async fn a_wrong_clock_is_corrected() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    let now = Clock::system().now().utc();
    for (index, wrong_by_hours) in [0, 3, -3, 24 * 365 * 12, -24 * 365 * 40].into_iter().enumerate()
    {
        let clock = now + chrono::TimeDelta::hours(wrong_by_hours);
        let call = json!({"type": "track", "event": format!("E{index}"), "userId": "ann",
            "timestamp": (clock - chrono::TimeDelta::minutes(30)).to_rfc3339()});
        let body = json!({"batch": [call], "sentAt": clock.to_rfc3339()});
        sender.post("/v1/batch", &body, 200).await;
    }
    for event in events(&workspace, "ann", 5).await {
        let text = event["timestamp"].as_str().unwrap();
        let at =
            chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap().and_utc();
        let off = (at - (now - chrono::TimeDelta::minutes(30))).num_seconds().abs();
        // Within the tolerance at midnight.
        assert!(off < 16 * 60, "{event}");
    }
}

#[tokio::test]
async fn thousands_of_events_in_one_batch_are_stored() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    let calls: Vec<Value> = (0..4_000)
        .map(|index| json!({"type": "track", "event": "Many", "anonymousId": "x", "messageId": format!("m{index}"), "properties": {"n": index}}))
        .collect();
    sender.batch(&calls).await;
    let asked = json!({"eventName": "Many", "groupBy": "month", "metrics": ["count", "sum"], "sumField": "n"});
    let sum = eventually("all are counted", || async {
        let found = workspace.api.post("/events/aggregate", &asked, 200).await.json();
        let results = found["data"]["results"].as_array().unwrap().clone();
        let counted: u64 = results.iter().map(|it| it["count"].as_u64().unwrap()).sum();
        (counted == 4_000)
            .then(|| results.iter().map(|it| it["sum_value"].as_f64().unwrap()).sum::<f64>())
    })
    .await;
    assert!((sum - 7_998_000.0).abs() < 0.5, "{sum}");
}

#[tokio::test]
async fn the_pixel_and_telemetry_answer_and_settings_start_analytics_js() {
    let workspace = Workspace::new().await;
    let sender = Sender::app(&workspace).await;
    let key = &sender.key;
    let anonymous = Client::anonymous();
    let query = format!(
        "writeKey={key}&anonymousId=x&userId=ann&event=Opened&properties.subject=Hi%20there&context.page.title=t"
    );
    let image = anonymous.get(format!("/pixel/v1/track?{query}"), 200).await;
    assert_eq!(image.headers["content-type"], "image/gif");
    anonymous.get(format!("/pixel/v1/page?{query}"), 200).await;
    anonymous.get("/pixel/v1/page?anonymousId=x", 401).await;
    let events = events(&workspace, "ann", 2).await;
    let opened = events.iter().find(|it| it["event_name"] == "Opened").unwrap();
    let expected = json!({"subject": "Hi there", "context": {"page": {"title": "t"}}});
    assert_eq!(properties(opened), expected);

    let telemetry = anonymous.request(Method::POST, "/v1/m").json(&json!({"series": []}));
    assert_eq!(anonymous.send(telemetry, 200).await.json(), json!({"success": true}));
    let settings = anonymous.get(format!("/v1/projects/{key}/settings"), 200).await.json();
    let segment = &settings["integrations"]["Segment.io"];
    let host = server().url.strip_prefix("http://").unwrap();
    assert_eq!(segment["apiKey"], json!(key));
    assert_eq!(
        (&segment["apiHost"], &segment["protocol"]),
        (&json!(format!("{host}/v1")), &json!("http"))
    );
    anonymous.get("/v1/projects/unknown/settings", 401).await;
    for path in ["/sourceConfig", "/sourceConfig/"] {
        let config = anonymous.get(format!("{path}?writeKey={key}&p=npm"), 200).await.json();
        let source = &config["source"];
        assert_eq!((&source["enabled"], &source["destinations"]), (&json!(true), &json!([])));
        anonymous.get(format!("{path}?writeKey=unknown"), 401).await;
        anonymous.get(path, 401).await;
    }
}
