//! Profiles from identify, group and alias.

use super::{segment::identities, *};

#[tokio::test]
async fn calls_of_one_person_are_applied_in_their_order() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let calls: Vec<Value> = (0..500)
        .map(|step| json!({"type": "identify", "userId": format!("u{}", step % 5), "traits": {"step": step, format!("k{}", step % 7): step}}))
        .collect();
    sender.batch(&calls).await;
    sender.batch(&[json!({"type": "identify", "userId": "u4", "traits": {"step": 500}})]).await;
    let user = profile(&workspace, "u4", |it| it["attributes"]["step"] == 500).await;
    assert_eq!(user["attributes"].as_object().unwrap().len(), 8, "{user}");
    for number in 0..4 {
        let user = profile(&workspace, &format!("u{number}"), |_| true).await;
        assert_eq!(user["attributes"]["step"], 495 + number, "{user}");
    }
}

#[tokio::test]
async fn an_anonymous_id_and_an_address_are_of_the_first_call_of_a_batch() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let lead = format!("{}@example.test", unique("lead"));
    workspace.api.post("/users", &json!({"email": lead, "attributes": {"lead": 1}}), 201).await;
    let identify = |user: &str, anonymous: &str, email: &str| json!({"type": "identify", "userId": user, "anonymousId": anonymous, "traits": {"email": email, "seen": 1}});
    sender
        .batch(&[
            identify("ann", "a1", "ann@example.test"),
            identify("bob", "a2", &lead),
            identify("ann", "a2", &lead),
            json!({"type": "identify", "userId": "ann", "traits": {"seen": 2}}),
        ])
        .await;
    profile(&workspace, "ann", |it| it["attributes"]["seen"] == 2).await;
    let bob = profile(&workspace, "bob", |it| it["attributes"]["seen"] == 1).await;
    assert_eq!(bob["attributes"]["lead"], 1, "bob named the lead's address first");
    let linked = |id: &str| (String::from("anonymous"), String::from(id));
    assert_eq!(identities(&workspace, "ann", 3).await[2], linked("a1"));
    assert_eq!(identities(&workspace, "bob", 3).await[2], linked("a2"));
}

#[tokio::test]
async fn a_batch_takes_over_the_lead_that_calls_one_by_one_do() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let mut leads = Vec::new();
    for number in 0..3 {
        let lead = format!("{}@example.test", unique("lead"));
        let body = json!({"email": lead, "attributes": {"lead": number}});
        workspace.api.post("/users", &body, 201).await;
        leads.push(lead);
    }
    let identify =
        |user: &str, traits: Value| json!({"type": "identify", "userId": user, "traits": traits});
    sender
        .batch(&[
            identify("ann", json!({"email": leads[0]})),
            identify("ann", json!({"email": leads[1], "last": 1})),
            identify("bob", json!({"a": 1})),
            identify("bob", json!({"email": leads[2], "last": 1})),
        ])
        .await;
    let ann = profile(&workspace, "ann", |it| it["attributes"]["last"] == 1).await;
    assert_eq!((&ann["attributes"]["lead"], &ann["email"]), (&json!(0), &json!(leads[1])));
    // He has a profile of his own by the time his address is known.
    let bob = profile(&workspace, "bob", |it| it["attributes"]["last"] == 1).await;
    assert_eq!((&bob["attributes"]["lead"], &bob["email"]), (&Value::Null, &json!(leads[2])));
    let users = workspace.api.get("/users?limit=1", 200).await.json();
    assert_eq!(users["pagination"]["total"], 4);
}

#[tokio::test]
async fn numeric_ids_of_sdks_for_python_name_groups_and_people() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    sender
        .batch(&[
            json!({"type": "identify", "userId": 9_007_199_254_740_993_u64, "traits": {"a": 1}}),
            json!({"type": "group", "userId": "9007199254740993", "groupId": 42, "traits": {"size": 3}}),
            json!({"type": "alias", "userId": "9007199254740993", "previousId": 7}),
        ])
        .await;
    let is_grouped = |it: &Value| it["attributes"]["groupId"] == "42";
    let user = profile(&workspace, "9007199254740993", is_grouped).await;
    assert_eq!(user["attributes"], json!({"a": 1, "groupId": "42", "group": {"size": 3}}));
    let ids = identities(&workspace, "9007199254740993", 3).await;
    assert_eq!(ids[2], ("anonymous".to_owned(), "7".to_owned()));
}

#[tokio::test]
async fn a_late_retry_of_an_identify_does_not_bring_old_traits_back() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let identify = |id: &str, plan: &str| json!({"type": "identify", "userId": "ann", "messageId": id, "traits": {"plan": plan, "email": format!("{plan}@example.test")}});
    sender.batch(&[identify("1", "old")]).await;
    profile(&workspace, "ann", |it| it["attributes"]["plan"] == "old").await;
    sender.batch(&[identify("2", "new")]).await;
    profile(&workspace, "ann", |it| it["attributes"]["plan"] == "new").await;
    sender.batch(&[identify("1", "old"), identify("3", "newest")]).await;
    let user = profile(&workspace, "ann", |it| it["attributes"]["plan"] == "newest").await;
    assert_eq!(user["email"], "newest@example.test");
    // The next one shows that the repeat alone changes nothing.
    sender
        .batch(&[
            identify("1", "old"),
            json!({"type": "identify", "userId": "ann", "traits": {"last": 1}}),
        ])
        .await;
    let user = profile(&workspace, "ann", |it| it["attributes"]["last"] == 1).await;
    assert_eq!(
        (&user["attributes"]["plan"], &user["email"]),
        (&json!("newest"), &json!("newest@example.test"))
    );
}

#[tokio::test]
async fn a_public_key_fills_in_and_overwrites_no_address() {
    let workspace = Workspace::new().await;
    let app = Sender::app(&workspace).await;
    let address = format!("{}@example.test", unique("lead"));
    workspace
        .api
        .post("/users", &json!({"externalId": "ann", "email": "ann@example.test"}), 201)
        .await;
    workspace.api.post("/users", &json!({"email": address, "attributes": {"lead": 1}}), 201).await;
    app.batch(&[
        json!({"type": "identify", "userId": "ann", "traits": {"email": "evil@example.test", "phone": "+4915112345678", "plan": 1}}),
        json!({"type": "identify", "userId": "ann", "traits": {"phone": "+4900000000", "consent": "yes", "last": 1}}),
        json!({"type": "identify", "userId": "bob", "traits": {"email": address, "last": 1}}),
    ])
    .await;
    let ann = profile(&workspace, "ann", |it| it["attributes"]["last"] == 1).await;
    assert_eq!(
        (&ann["email"], &ann["phone"]),
        (&json!("ann@example.test"), &json!("+4915112345678"))
    );
    assert_eq!(ann["attributes"], json!({"plan": 1, "last": 1}));
    // It takes no profile over by its address.
    let bob = profile(&workspace, "bob", |it| it["attributes"]["last"] == 1).await;
    assert_eq!(bob["attributes"], json!({"last": 1}));
    assert_eq!(search(&workspace, &address).await.len(), 2);
}

#[tokio::test]
async fn identify_links_and_alias_merges_with_a_server_key_only() {
    let workspace = Workspace::new().await;
    let server_key = Sender::of(&workspace, "events:write,users:write").await;
    let app = Sender::app(&workspace).await;
    app.batch(&[json!({"type": "identify", "userId": "ann", "anonymousId": "a1", "traits": {}})])
        .await;
    let ids = identities(&workspace, "ann", 3).await;
    assert_eq!(ids[2], ("anonymous".to_owned(), "a1".to_owned()));
    workspace
        .api
        .post("/users", &json!({"externalId": "old", "email": "old@example.test"}), 201)
        .await;
    app.batch(&[
        json!({"type": "alias", "userId": "ann", "previousId": "old"}),
        json!({"type": "identify", "userId": "ann", "traits": {"seen": 1}}),
    ])
    .await;
    let ann = profile(&workspace, "ann", |it| it["attributes"]["seen"] == 1).await;
    assert_eq!(ann["email"], Value::Null, "a public key merges nothing");
    server_key.batch(&[json!({"type": "alias", "userId": "ann", "previousId": "old"})]).await;
    profile(&workspace, "ann", |it| it["email"] == "old@example.test").await;
    workspace.api.get("/users/by-user-id/ann", 200).await;
}
