//! Calls that name a person by the internal id, and ids of callers that look like one.

use std::collections::BTreeSet;

use super::{faulty_batches::refused, segment::identities, *};

/// An id as MongoDB makes it up, which looks like an internal one.
const LOOKS_ALIKE: &str = "507f1f77bcf86cd799439011";

async fn made(workspace: &Workspace, body: &Value) -> String {
    let made = workspace.api.post("/users", body, 201).await.json();
    made["id"].as_str().unwrap().to_owned()
}

fn identify(user: &str, traits: Value) -> Value {
    json!({"type": "identify", "userId": user, "traits": traits})
}

/// Waits until the profile with this internal id has this attribute.
async fn has(workspace: &Workspace, id: &str, name: &str, value: Value) -> Value {
    eventually("the calls are applied", || async {
        let user = workspace.api.get(format!("/users/{id}"), 200).await.json();
        (user["attributes"][name] == value).then_some(user)
    })
    .await
}

async fn total(workspace: &Workspace) -> Value {
    workspace.api.get("/users?limit=1", 200).await.json()["pagination"]["total"].clone()
}

#[tokio::test]
async fn an_internal_id_names_its_profile_to_keys_of_both_kinds() {
    let workspace = Workspace::new().await;
    let app = Sender::app(&workspace).await;
    let server_key = Sender::of(&workspace, "events:write,users:write").await;
    for (sender, name, email) in
        [(&app, "ann", "ann@example.test"), (&server_key, "bob", "new-bob@example.test")]
    {
        let body = json!({"externalId": name, "email": format!("{name}@example.test")});
        let id = made(&workspace, &body).await;
        let traits = json!({"email": format!("new-{name}@example.test"), "plan": 1});
        sender
            .batch(&[
                json!({"type": "identify", "userId": id, "anonymousId": format!("a-{name}"), "traits": traits}),
                json!({"type": "group", "userId": id.to_uppercase(), "groupId": "g", "traits": {"n": 1}}),
                json!({"type": "alias", "userId": id, "previousId": format!("b-{name}")}),
                identify(&id, json!({"last": 1})),
            ])
            .await;
        let user = has(&workspace, &id, "last", json!(1)).await;
        assert_eq!((&user["externalId"], &user["email"]), (&json!(name), &json!(email)));
        let expected = json!({"plan": 1, "last": 1, "groupId": "g", "group": {"n": 1}});
        assert_eq!(user["attributes"], expected);
        let linked = |prefix: &str| ("anonymous".to_owned(), format!("{prefix}-{name}"));
        let ids = identities(&workspace, name, 4).await;
        assert!(ids.contains(&linked("a")) && ids.contains(&linked("b")), "{ids:?}");
        workspace.api.get(format!("/users/by-user-id/{id}"), 404).await;
    }
    assert_eq!(total(&workspace).await, 2);
}

#[tokio::test]
async fn calls_by_both_ids_of_a_person_keep_their_order() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let ann = made(&workspace, &json!({"externalId": "ann"})).await;
    let lead = made(&workspace, &json!({"email": "lead@example.test"})).await;
    let upper = ann.to_uppercase();
    let calls: Vec<Value> = (0..60)
        .map(|step| match step % 6 {
            0 => identify("ann", json!({"step": step, "email": "shared@example.test"})),
            1 => identify(&ann, json!({"step": step})),
            2 => identify("bob", json!({"step": step, "email": "shared@example.test"})),
            3 => identify(&upper, json!({"step": step})),
            4 => identify("ann", json!({"step": step, "odd": 1})),
            _ => identify(&lead, json!({"step": step})),
        })
        .collect();
    sender.batch(&calls).await;
    has(&workspace, &lead, "step", json!(59)).await;
    has(&workspace, &ann, "step", json!(58)).await;
    profile(&workspace, "bob", |it| it["attributes"]["step"] == 56).await;
    assert_eq!(total(&workspace).await, 3);
}

#[tokio::test]
async fn the_internal_id_of_a_merged_profile_names_its_survivor_and_of_a_deleted_one_nothing() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let app = Sender::app(&workspace).await;
    let ann = made(&workspace, &json!({"externalId": "ann"})).await;
    let merged = made(&workspace, &json!({"externalId": "old"})).await;
    workspace.api.post("/users/merge", &json!({"from": merged, "into": "ann"}), 200).await;
    app.batch(&[identify(&merged, json!({"a": 1}))]).await;
    has(&workspace, &ann, "a", json!(1)).await;

    let gone = made(&workspace, &json!({"externalId": "gone"})).await;
    let deletion = workspace.api.request(Method::DELETE, &format!("/users/{gone}"));
    workspace.api.send(deletion, 204).await;
    for sender in [&app, &sender] {
        sender.batch(&[identify(&gone, json!({"a": 1}))]).await;
    }
    sender
        .batch(&[
            json!({"type": "alias", "userId": gone, "previousId": "ann"}),
            json!({"type": "alias", "userId": gone, "previousId": "unknown"}),
            identify("ann", json!({"last": 1})),
        ])
        .await;
    has(&workspace, &ann, "last", json!(1)).await;
    let listed = refused(&workspace, 2).await;
    let reasons: BTreeSet<&str> = listed.iter().map(|it| it["reason"].as_str().unwrap()).collect();
    let expected = BTreeSet::from([
        "userId must not be the internal id of a deleted profile",
        "externalId must not be the internal id of another profile",
    ]);
    assert_eq!(reasons, expected);
    workspace.api.get(format!("/users/by-user-id/{gone}"), 404).await;
    workspace.api.get(format!("/users/{gone}"), 404).await;
    assert_eq!(total(&workspace).await, 1);
}

#[tokio::test]
async fn an_external_id_that_looks_like_an_internal_one_is_taken_as_it_is() {
    let workspace = Workspace::new().await;
    let app = Sender::app(&workspace).await;
    let ann = made(&workspace, &json!({"externalId": "ann"})).await;
    app.batch(&[
        identify(LOOKS_ALIKE, json!({"a": 1})),
        identify(&ann, json!({"a": 1})),
        identify(LOOKS_ALIKE, json!({"b": 1})),
    ])
    .await;
    let user = profile(&workspace, LOOKS_ALIKE, |it| it["attributes"]["b"] == 1).await;
    assert_eq!(user["attributes"], json!({"a": 1, "b": 1}));
    has(&workspace, &ann, "a", json!(1)).await;
    let body = json!({"externalId": LOOKS_ALIKE, "attributes": {"c": 1}});
    let updated = workspace.api.post("/users", &body, 200).await.json();
    assert_eq!(updated["id"], user["id"]);
    assert_eq!(total(&workspace).await, 2);
}
