//! `POST /users` with an array: elements are applied separately, in array order.

use serde_json::{Value, json};

use super::{delete, id, post};
use crate::kit::Workspace;

#[tokio::test]
async fn array_elements_are_answered_separately_and_valid_ones_applied() {
    let workspace = Workspace::new().await;
    let known = post(&workspace, &json!({"externalId": "known"}), 201).await;
    let body = json!([
        {"externalId": "a", "attributes": {"n": 1}},
        {"externalId": "known", "phone": "12345"},
        {"externalId": 7, "email": "Seven@example.test"},
        7,
        {"userId": "0123456789abcdef01234567"},
        {"userId": id(&known), "attributes": {"x": 1}},
        {"email": "b@example.test"},
        {"phone": "12345"},
        {"externalId": "deep", "attributes": {"a": {"b": {"c": {"d": {"e": {}}}}}}},
        {"externalId": "events", "events": [{"properties": 1}]},
        {"externalId": "", "email": "", "userId": "nonsense"},
    ]);
    let answer = workspace.api.post("/users", &body, 200).await.json();
    assert_eq!(
        answer,
        json!({
            "processed": 11, "created": 2, "updated": 2,
            "failed": [
                {"index": 2, "userId": "Seven@example.test", "reason": "externalId must be a string"},
                {"index": 3, "userId": null, "reason": "must be an object"},
                {"index": 4, "userId": "0123456789abcdef01234567", "reason": "User not found"},
                {"index": 7, "userId": null, "reason": "externalId, email or userId is required"},
                {"index": 8, "userId": "deep", "reason": "attributes must be nested at most 5 deep, received 6"},
                {"index": 9, "userId": "events", "reason": "events[0].properties must be an object"},
                {"index": 10, "userId": "nonsense", "reason": "userId must be 24 hexadecimal characters"},
            ],
            "subscriptions": {"applied": 0, "skipped": 0},
            "events": {"accepted": 0, "rejected": 0},
        })
    );
    let known = workspace.api.get("/users/by-user-id/known", 200).await.json();
    assert_eq!((&known["phone"], &known["attributes"]), (&json!("12345"), &json!({"x": 1})));
    assert_eq!(workspace.api.get("/users", 200).await.json()["pagination"]["total"], 3);
}

#[tokio::test]
async fn a_repeated_user_is_applied_in_array_order() {
    let workspace = Workspace::new().await;
    let mut elements: Vec<Value> = (0..40)
        .map(|n| json!({"externalId": "ann", "attributes": {"last": n, format!("k{n}"): n}}))
        .collect();
    // Other names of the same person in between: the address, and the address beside a new id.
    elements.insert(20, json!({"externalId": "ann", "email": "ann@example.test"}));
    elements.insert(
        30,
        json!({"email": "ann@example.test", "attributes": {"byEmail": true, "last": "email"}}),
    );
    elements.push(json!({"externalId": "bob", "email": "ann@example.test"}));
    elements.push(json!({"email": "ann@example.test", "phone": "12345"}));
    let answer = workspace.api.post("/users", &json!(elements), 200).await.json();
    assert_eq!((&answer["created"], &answer["updated"]), (&json!(2), &json!(42)), "{answer}");
    assert_eq!(answer["failed"], json!([]));
    let ann = workspace.api.get("/users/by-user-id/ann", 200).await.json();
    assert_eq!(ann["attributes"]["last"], 39);
    assert_eq!(ann["attributes"]["byEmail"], true);
    assert_eq!(ann["attributes"].as_object().unwrap().len(), 42);
    // The last one updates the latest profile with the address: the one just created.
    let bob = workspace.api.get("/users/by-user-id/bob", 200).await.json();
    assert_eq!((&bob["phone"], &ann["phone"]), (&json!("12345"), &Value::Null));
}

#[tokio::test]
async fn an_array_adopts_an_email_only_profile_once() {
    let workspace = Workspace::new().await;
    let body = json!([
        {"email": "lead@example.test"},
        {"externalId": "c1", "email": "lead@example.test"},
        {"externalId": "c2", "email": "lead@example.test"},
    ]);
    let answer = workspace.api.post("/users", &body, 200).await.json();
    assert_eq!((&answer["created"], &answer["updated"]), (&json!(2), &json!(1)));
    assert_eq!(workspace.api.get("/users", 200).await.json()["pagination"]["total"], 2);
}

#[tokio::test]
async fn exceeding_merged_limits_rejects_only_that_element() {
    let workspace = Workspace::new().await;
    let body = json!([
        {"externalId": "ann", "attributes": {"a": "x".repeat(51_000)}},
        {"externalId": "ann", "attributes": {"b": "x".repeat(300)}},
        {"externalId": "ann", "attributes": {"c": 1}},
    ]);
    let answer = workspace.api.post("/users", &body, 200).await.json();
    assert_eq!((&answer["created"], &answer["updated"]), (&json!(1), &json!(1)));
    assert_eq!(
        answer["failed"],
        json!([{"index": 1, "userId": "ann",
            "reason": "attributes must be at most 51200 bytes of JSON, received 51315 after merging with those stored"}])
    );
    let ann = workspace.api.get("/users/by-user-id/ann", 200).await.json();
    assert_eq!(ann["attributes"].as_object().unwrap().len(), 2);
}

#[tokio::test]
async fn array_limits_apply_to_the_last_element() {
    let workspace = Workspace::new().await;
    let users = |count: usize| -> Vec<Value> {
        (0..count).map(|n| json!({"externalId": format!("u{n}")})).collect()
    };
    let answer = workspace.api.post("/users", &json!(users(1000)), 200).await.json();
    assert_eq!((&answer["processed"], &answer["created"]), (&json!(1000), &json!(1000)));
    let again = workspace.api.post("/users", &json!(users(1000)), 200).await.json();
    assert_eq!((&again["created"], &again["updated"]), (&json!(0), &json!(1000)));
    assert_eq!(workspace.api.get("/users", 200).await.json()["pagination"]["total"], 1000);
    for (body, message) in [
        (json!([]), "body must not be an empty array"),
        (json!(users(1001)), "body must have at most 1000 elements, received 1001"),
    ] {
        assert_eq!(workspace.api.post("/users", &body, 400).await.errors(), [message]);
    }
    let event = json!({"name": "A"});
    let with_events = |count: usize, each: usize| -> Vec<Value> {
        (0..count)
            .map(|n| json!({"externalId": format!("e{n}"), "events": vec![event.clone(); each]}))
            .collect()
    };
    let answer = workspace.api.post("/users", &json!(with_events(20, 25)), 200).await.json();
    assert_eq!(answer["events"], json!({"accepted": 500, "rejected": 0}));
    let mut over = with_events(20, 25);
    over.push(json!({"externalId": 1, "events": [1]}));
    assert_eq!(
        workspace.api.post("/users", &json!(over), 400).await.errors(),
        ["body must have at most 500 inline events in all, received 501"]
    );
    let answer = workspace.api.post("/users", &json!(with_events(1, 26)), 200).await.json();
    assert_eq!(answer["failed"][0]["reason"], "events must have at most 25 elements, received 26");
    let with_lists = |count: usize, each: usize| -> Vec<Value> {
        let wish = json!({"listId": "nowhere"});
        (0..count).map(|n| json!({"externalId": format!("e{n}"), "subscriptions": vec![wish.clone(); each]})).collect()
    };
    let answer = workspace.api.post("/users", &json!(with_lists(10, 100)), 200).await.json();
    assert_eq!(answer["subscriptions"], json!({"applied": 0, "skipped": 1000}));
    let mut over = with_lists(10, 100);
    over.extend(with_lists(1, 1));
    assert_eq!(
        workspace.api.post("/users", &json!(over), 400).await.errors(),
        ["body must have at most 1000 inline subscriptions in all, received 1001"]
    );
    let answer = workspace.api.post("/users", &json!(with_lists(1, 101)), 200).await.json();
    assert_eq!(
        answer["failed"][0]["reason"],
        "subscriptions must have at most 100 elements, received 101"
    );
}

#[tokio::test]
async fn an_unparsable_element_does_not_affect_others() {
    let workspace = Workspace::new().await;
    let body = format!(
        r#"[{{"externalId":"a"}},{{"externalId":"\ud800"}},{{"externalId":"b","attributes":{{"x":1e400}}}},{{"\udc00":1}},{{"externalId":"c","attributes":{}{}}},{{"externalId":"d"}}]"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let answer = workspace.api.post_bytes("/users", body, 200).await.json();
    assert_eq!(
        (&answer["created"], answer["failed"].as_array().unwrap().len()),
        (&json!(2), 4),
        "{answer}"
    );
}

#[tokio::test]
async fn an_array_recreates_a_deleted_profile() {
    let workspace = Workspace::new().await;
    let ann = post(&workspace, &json!({"externalId": "ann"}), 201).await;
    delete(&workspace.api, &format!("/users/{}", id(&ann)), 204).await;
    let answer = workspace
        .api
        .post("/users", &json!([{"externalId": "ann"}, {"userId": id(&ann)}]), 200)
        .await
        .json();
    assert_eq!((&answer["created"], &answer["failed"][0]["index"]), (&json!(1), &json!(1)));
}
