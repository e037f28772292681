//! PostHog's protocol.

use super::{
    segment::{identities, properties},
    *,
};

#[tokio::test]
async fn events_and_people_of_posthog_arrive_on_each_route() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let http = Client::anonymous();
    let event = |id: &str| json!({"event": "Bought", "uuid": id, "distinct_id": "ann", "properties": {"$lib": "posthog-node", "a": 1}});
    for (index, path) in
        ["/batch/", "/batch", "/capture/", "/capture", "/e/", "/e", "/i/v0/e/", "/i/v0/e"]
            .iter()
            .enumerate()
    {
        let body = json!({"api_key": sender.key, "batch": [event(&index.to_string())], "sent_at": Clock::system().now().utc().to_rfc3339()});
        let answer = http.send(http.request(Method::POST, path).json(&body), 200).await.json();
        let status = &answer["status"];
        assert!(*status == 1 || *status == "Ok", "{path}: {answer}");
    }
    let mut single = event("single");
    single["api_key"] = json!(sender.key);
    http.send(http.request(Method::POST, "/capture/").json(&single), 200).await;
    let browser = json!([{"event": "$pageview", "uuid": "b", "properties": {"token": sender.key, "distinct_id": "ann", "$current_url": "u"}}]);
    http.send(http.request(Method::POST, "/e/").json(&browser), 200).await;
    let events = events(&workspace, "ann", 10).await;
    let page = events.iter().find(|it| it["event_name"] == "Page Viewed").unwrap();
    assert_eq!(properties(page), json!({"_current_url": "u"}));
    let bought = events.iter().find(|it| it["event_id"] == "single").unwrap();
    assert_eq!(properties(bought), json!({"_lib": "posthog-node", "a": 1}));
}

#[tokio::test]
async fn people_are_identified_set_once_grouped_and_joined() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let http = Client::anonymous();
    let send = async |events: Value| {
        let body = json!({"api_key": sender.key, "batch": events});
        http.send(http.request(Method::POST, "/batch/").json(&body), 200).await;
    };
    send(json!([
        {"event": "$identify", "distinct_id": "ann", "$set": {"email": "ann@example.test", "plan": "free"},
            "properties": {"$anon_distinct_id": "a1"}},
        {"event": "$set_once", "distinct_id": "ann", "$set_once": {"plan": "pro", "first": 1, "email": "other@example.test"}},
        {"event": "Bought", "distinct_id": "ann", "properties": {"$set": {"last": "x"}, "$set_once": {"first": 2}}},
        {"event": "$groupidentify", "distinct_id": "ann", "properties": {"$group_type": "company", "$group_key": "acme", "$group_set": {"n": 1}}},
        {"event": "$groupidentify", "distinct_id": "$company_acme", "properties": {"$group_type": "company", "$group_key": "acme"}},
        {"event": "$set", "distinct_id": "ann", "$set": {"end": 1}},
    ]))
    .await;
    let ann = profile(&workspace, "ann", |it| it["attributes"]["end"] == 1).await;
    assert_eq!(ann["email"], "ann@example.test");
    let expected = json!({"plan": "free", "first": 1, "last": "x", "groupId": "acme", "group": {"n": 1}, "end": 1});
    assert_eq!(ann["attributes"], expected);
    assert!(search(&workspace, "company_acme").await.is_empty(), "a group is no person");
    // Node names the user first, Python the other id.
    send(json!([
        {"event": "$create_alias", "distinct_id": "ann", "properties": {"distinct_id": "ann", "alias": "n1"}},
        {"event": "$create_alias", "distinct_id": "p1", "properties": {"distinct_id": "p1", "alias": "ann"}},
    ]))
    .await;
    let mut ids = identities(&workspace, "ann", 5).await.split_off(2);
    ids.sort();
    let expected = ["a1", "n1", "p1"].map(|id| ("anonymous".to_owned(), id.to_owned()));
    assert_eq!(ids, expected);
    events(&workspace, "ann", 1).await;
}

#[tokio::test]
async fn visitors_have_no_profile_until_they_are_identified() {
    const VISITOR: &str = "0198c5a4-8f3e-7c1b-9d2a-5b6c7d8e9f01";
    const ANOTHER: &str = "0198c5a4-8f3e-7c1b-9d2a-5b6c7d8e9f02";
    let workspace = Workspace::new().await;
    let app = Sender::app(&workspace).await;
    let http = Client::anonymous();
    let send = async |events: Value| {
        let body = json!({"api_key": app.key, "batch": events});
        http.send(http.request(Method::POST, "/batch/").json(&body), 200).await;
    };
    // As posthog-js sends them with person_profiles: "always".
    let of_visitor = |id: &str, event: &str, first: &str| json!({"event": event, "distinct_id": id, "$set_once": {"first": first, event: 1}, "properties": {"$is_identified": false}});
    send(json!([of_visitor(VISITOR, "Opened", "a")])).await;
    send(json!([
        {"event": "$identify", "distinct_id": "ann", "$set": {"plan": "pro"}, "$set_once": {"first": "b"},
            "properties": {"$anon_distinct_id": VISITOR, "$is_identified": true}},
    ]))
    .await;
    profile(&workspace, "ann", |it| it["attributes"]["plan"] == "pro").await;
    let linked = |id: &str| ("anonymous".to_owned(), id.to_owned());
    assert_eq!(identities(&workspace, "ann", 3).await[2], linked(VISITOR));
    // A retry that comes late is hers, too.
    send(json!([of_visitor(VISITOR, "Late", "c")])).await;
    let ann = profile(&workspace, "ann", |it| it["attributes"]["Late"] == 1).await;
    assert_eq!(ann["attributes"], json!({"plan": "pro", "first": "b", "Late": 1}));
    assert!(search(&workspace, VISITOR).await.iter().all(|it| it["externalId"] == "ann"));
    events(&workspace, "ann", 2).await;

    // posthog-js names the visitor first, and the new id as the alias.
    send(json!([
        {"event": "$create_alias", "distinct_id": ANOTHER, "properties": {"distinct_id": ANOTHER, "alias": "bob", "$is_identified": false}},
        {"event": "$identify", "distinct_id": "bob", "$set": {"plan": "free"}, "properties": {"$anon_distinct_id": ANOTHER}},
    ]))
    .await;
    profile(&workspace, "bob", |it| it["attributes"]["plan"] == "free").await;
    assert_eq!(identities(&workspace, "bob", 3).await[2], linked(ANOTHER));
    let people = workspace.api.get("/users?limit=1", 200).await.json();
    assert_eq!(people["pagination"]["total"], 2);
}

#[tokio::test]
async fn there_are_no_flags() {
    let workspace = Workspace::new().await;
    let sender = Sender::app(&workspace).await;
    let http = Client::anonymous();
    for (path, name) in [
        ("/flags/?v=2", "token"),
        ("/flags", "api_key"),
        ("/decide/?v=3", "token"),
        ("/decide", "api_key"),
    ] {
        let request =
            http.request(Method::POST, path).json(&json!({name: sender.key, "distinct_id": "ann"}));
        let answer = http.send(request, 200).await.json();
        assert_eq!((&answer["flags"], &answer["featureFlags"]), (&json!({}), &json!({})), "{path}");
        let unknown = http.request(Method::POST, path).json(&json!({name: "unknown"}));
        http.send(unknown, 401).await;
    }
}

#[tokio::test]
async fn the_configuration_of_a_key_starts_posthog_js() {
    let workspace = Workspace::new().await;
    let key = Sender::app(&workspace).await.key;
    let http = Client::anonymous();
    let config = http.get(format!("/array/{key}/config"), 200).await.json();
    assert_eq!((&config["token"], &config["autocapture_opt_out"]), (&json!(key), &json!(true)));
    let script = http.get(format!("/array/{key}/config.js"), 200).await;
    assert_eq!(script.headers["content-type"], "text/javascript; charset=utf-8");
    let (assigned, entry) = script.text.split_once(" = {\"").unwrap();
    assert!(assigned.ends_with(&format!("[\"{key}\"]")), "{assigned}");
    let entry: Value =
        serde_json::from_str(&format!("{{\"{}", entry.trim_end_matches(';'))).unwrap();
    assert_eq!(entry["config"], config);
    for path in ["/array/unknown/config", "/array/unknown/config.js"] {
        http.get(path, 401).await;
    }
}
