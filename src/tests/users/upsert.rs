//! `POST /users` with one user: which profile it matches, and how fields are merged.

use serde_json::{Value, json};

use super::{delete, id, post, put};
use crate::kit::Workspace;

#[tokio::test]
async fn a_new_external_id_creates_and_its_repeat_updates() {
    let workspace = Workspace::new().await;
    let sent = json!({"externalId": "ann", "email": " Ann@Example.TEST ", "phone": "+49 151 1234567",
        "attributes": {"firstName": "Ann", "n": 1}});
    let created = post(&workspace, &sent, 201).await;
    assert_eq!(created["externalId"], "ann");
    assert_eq!(created["userId"], created["id"]);
    assert_eq!(id(&created).len(), 24);
    assert_eq!(created["email"], "ann@example.test");
    assert_eq!(created["phone"], "+49 151 1234567");
    assert_eq!(created["attributes"], json!({"firstName": "Ann", "n": 1}));
    assert_eq!(created["segments"], json!([]));
    assert_eq!(created["createdAt"], created["updatedAt"]);
    assert!(created.get("subscriptions").is_none() && created.get("events").is_none());
    let again = post(&workspace, &sent, 200).await;
    assert_eq!(again["id"], created["id"]);
    assert_eq!(again["createdAt"], created["createdAt"]);
    let changed = json!({"externalId": "ann", "attributes": {"n": null, "m": {"deep": [1]}}});
    let changed = post(&workspace, &changed, 200).await;
    // What is absent stays; null is stored, not taken as a deletion.
    assert_eq!(changed["attributes"], json!({"firstName": "Ann", "n": null, "m": {"deep": [1]}}));
    assert_eq!(changed["email"], "ann@example.test");
    let by_id = workspace.api.get(format!("/users/{}", id(&created)), 200).await.json();
    assert_eq!(by_id, changed);
    let by_external = workspace.api.get("/users/by-user-id/ann", 200).await.json();
    assert_eq!(by_external, changed);
}

#[tokio::test]
async fn a_body_without_an_identifier_is_refused_with_the_missing_fields() {
    let workspace = Workspace::new().await;
    let missing = "externalId, email or userId is required";
    for body in [
        json!({}),
        json!({"externalId": "", "email": "", "userId": ""}),
        json!({"externalId": null, "attributes": {}}),
    ] {
        let answer = workspace.api.post("/users", &body, 400).await;
        assert_eq!(answer.errors(), [missing], "{body}");
    }
    for (body, errors) in [
        (json!({"userId": "xyz"}), vec!["userId must be 24 hexadecimal characters"]),
        (
            json!({"userId": "0123456789abcdef01234567", "externalId": "a"}),
            vec!["userId must not be sent together with externalId"],
        ),
        (
            json!({"externalId": 1, "email": "x", "userId": true, "phone": "1".repeat(21), "attributes": [1]}),
            vec![
                "externalId must be a string",
                "email must be an email address",
                "userId must be a string",
                "phone must be at most 20 characters",
                "attributes must be an object",
            ],
        ),
        (json!({"externalId": "x".repeat(256)}), vec!["externalId must be at most 255 characters"]),
        (json!({"externalId": "a\0"}), vec!["externalId must not contain NUL characters"]),
        (json!({"externalId": "a", "phone": {}}), vec!["phone must be a string"]),
        (json!({"phone": 1}), vec![missing, "phone must be a string"]),
    ] {
        assert_eq!(workspace.api.post("/users", &body, 400).await.errors(), errors, "{body}");
    }
    let longest = json!({"externalId": "ä".repeat(255), "phone": "1".repeat(20)});
    post(&workspace, &longest, 201).await;
    let unknown = json!({"userId": "0123456789abcdef01234567", "email": "a@example.test"});
    assert_eq!(post(&workspace, &unknown, 404).await["message"], "User not found");
}

#[tokio::test]
async fn values_that_cannot_be_stored_are_refused_by_field() {
    let workspace = Workspace::new().await;
    for (body, errors) in [
        (
            r#"{"externalId":"a","attributes":{"x":"\u0000"}}"#,
            "attributes must not contain NUL characters",
        ),
        (
            r#"{"externalId":"a","attributes":{"x":["\ud800"]}}"#,
            "attributes must not contain half of a surrogate pair",
        ),
        (
            r#"{"externalId":"a","attributes":{"x":1e400000}}"#,
            "attributes must not contain numbers of more than 400 digits before or after the point",
        ),
        (
            r#"{"externalId":"\udc00"}"#,
            "externalId cannot be read: lone leading surrogate in hex escape",
        ),
        (r#"{"externalId":1e999}"#, "externalId cannot be read: number out of range"),
    ] {
        assert_eq!(
            workspace.api.post_bytes("/users", body, 400).await.errors(),
            [errors],
            "{body}"
        );
    }
    let deep = format!(
        r#"{{"externalId":"a","attributes":{{"x":{}{}}}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let answer = workspace.api.post_bytes("/users", deep, 400).await;
    assert_eq!(answer.errors(), ["attributes must be nested at most 5 deep, received 10001"]);
    for body in ["", "{", "[", "null", "7", "\"x\"", "nul", "{\"externalId\":\"a\"} x"] {
        workspace.api.post_bytes("/users", body, 400).await;
    }
    // Every digit is kept.
    let kept = r#"{"externalId":"a","attributes":{"big":12345678901234567890123456789,"small":1e-7,"money":49.90}}"#;
    let text = workspace.api.post_bytes("/users", kept, 201).await.text;
    for part in ["\"big\":12345678901234567890123456789", "\"small\":0.0000001", "\"money\":49.90"]
    {
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn an_email_alone_updates_the_profile_that_has_it() {
    let workspace = Workspace::new().await;
    let lead = post(&workspace, &json!({"email": "Lead@Example.test"}), 201).await;
    assert_eq!(lead["externalId"], Value::Null);
    assert_eq!(lead["email"], "lead@example.test");
    let again = json!({"email": "lead@example.TEST ", "attributes": {"n": 1}});
    let again = post(&workspace, &again, 200).await;
    assert_eq!(
        (again["id"].clone(), again["attributes"].clone()),
        (lead["id"].clone(), json!({"n": 1}))
    );
    // A new external id with the address of a profile without one: the same person.
    let adopted = json!({"externalId": "c1", "email": "lead@example.test", "attributes": {"m": 2}});
    let adopted = post(&workspace, &adopted, 200).await;
    assert_eq!((adopted["id"].clone(), &adopted["externalId"]), (lead["id"].clone(), &json!("c1")));
    assert_eq!(adopted["attributes"], json!({"n": 1, "m": 2}));
    // Addresses may be shared; another id of the caller's is another person.
    let other = json!({"externalId": "c2", "email": "lead@example.test"});
    let other = post(&workspace, &other, 201).await;
    assert_ne!(other["id"], lead["id"]);
    // Of several, the one that changed last.
    let latest =
        post(&workspace, &json!({"email": "lead@example.test", "phone": "12345"}), 200).await;
    assert_eq!(latest["id"], other["id"]);
    post(&workspace, &json!({"externalId": "c1", "phone": "54321"}), 200).await;
    let latest = post(&workspace, &json!({"email": "lead@example.test"}), 200).await;
    assert_eq!(latest["id"], lead["id"]);
}

#[tokio::test]
async fn an_internal_id_updates_only_its_profile() {
    let workspace = Workspace::new().await;
    let ann = post(&workspace, &json!({"externalId": "ann"}), 201).await;
    let sent =
        json!({"userId": id(&ann).to_uppercase(), "email": "ann@example.test", "externalId": ""});
    let changed = post(&workspace, &sent, 200).await;
    assert_eq!((&changed["id"], &changed["email"]), (&ann["id"], &json!("ann@example.test")));
    // An internal id is never an external one.
    let looks_alike =
        post(&workspace, &json!({"externalId": "aaaaaaaaaaaaaaaaaaaaaaaa"}), 201).await;
    assert_ne!(id(&looks_alike), "aaaaaaaaaaaaaaaaaaaaaaaa");
    post(&workspace, &json!({"userId": "aaaaaaaaaaaaaaaaaaaaaaaa"}), 404).await;
    let other = Workspace::new().await;
    post(&other, &json!({"userId": id(&ann)}), 404).await;
}

#[tokio::test]
async fn an_internal_id_becomes_no_external_id_of_another_profile() {
    let workspace = Workspace::new().await;
    let ann = post(&workspace, &json!({"externalId": "ann"}), 201).await;
    let merged = post(&workspace, &json!({"externalId": "merged"}), 201).await;
    let lead = post(&workspace, &json!({"email": "lead@example.test"}), 201).await;
    let gone = post(&workspace, &json!({"externalId": "gone"}), 201).await;
    let merge = json!({"from": "merged", "into": "ann"});
    workspace.api.post("/users/merge", &merge, 200).await;
    delete(&workspace.api, &format!("/users/{}", id(&gone)), 204).await;
    let refusal = "externalId must not be the internal id of another profile";
    for user in [&ann, &merged, &gone] {
        for external_id in [id(user).to_owned(), id(user).to_uppercase()] {
            for body in [
                json!({"externalId": external_id}),
                // It would take the lead over.
                json!({"externalId": external_id, "email": "lead@example.test"}),
            ] {
                assert_eq!(workspace.api.post("/users", &body, 400).await.errors(), [refusal]);
            }
        }
    }
    let array = json!([{"externalId": "507f1f77bcf86cd799439011"}, {"externalId": id(&ann)}, {"externalId": "bob"}]);
    let answer = post(&workspace, &array, 200).await;
    assert_eq!((&answer["created"], &answer["processed"]), (&json!(2), &json!(3)));
    let failed = json!([{"index": 1, "userId": id(&ann), "reason": refusal}]);
    assert_eq!(answer["failed"], failed);
    // A profile may have its own.
    let own = json!({"externalId": id(&lead), "email": "lead@example.test"});
    let own = post(&workspace, &own, 200).await;
    assert_eq!((&own["id"], &own["externalId"]), (&lead["id"], &lead["id"]));
    // Another workspace has other profiles.
    post(&Workspace::new().await, &json!({"externalId": id(&ann)}), 201).await;
}

#[tokio::test]
async fn attribute_limits_apply_after_merging_and_atomically() {
    let workspace = Workspace::new().await;
    // {"a":"…"} is 8 bytes around the text; merged with {"b":"…"} 15 in all.
    let filled = |name: &str, length: usize| json!({name: "x".repeat(length)});
    let sent = json!({"externalId": "ann", "attributes": filled("a", 51_193)});
    assert_eq!(
        workspace.api.post("/users", &sent, 400).await.errors(),
        ["attributes must be at most 51200 bytes of JSON, received 51201"]
    );
    post(&workspace, &json!({"externalId": "ann", "attributes": filled("a", 51_185 - 100)}), 201)
        .await;
    post(&workspace, &json!({"externalId": "ann", "attributes": filled("b", 100)}), 200).await;
    let over = json!({"externalId": "ann", "phone": "12345", "attributes": filled("b", 101)});
    let answer = workspace.api.post("/users", &over, 400).await;
    assert_eq!(
        answer.errors(),
        [
            "attributes must be at most 51200 bytes of JSON, received 51201 after merging with those stored"
        ]
    );
    let stored = workspace.api.get("/users/by-user-id/ann", 200).await.json();
    assert_eq!(
        (&stored["phone"], stored["attributes"]["b"].as_str().unwrap().len()),
        (&Value::Null, 100)
    );
    let put_over = json!({"phone": "12345", "attributes": filled("b", 101)});
    put(&workspace.api, "/users/by-user-id/ann", &put_over, 400).await;

    let keys = |from: usize, to: usize| -> Value {
        let map: serde_json::Map<String, Value> =
            (from..to).map(|n| (format!("k{n}"), json!(n))).collect();
        map.into()
    };
    post(&workspace, &json!({"externalId": "bob", "attributes": keys(0, 199)}), 201).await;
    post(&workspace, &json!({"externalId": "bob", "attributes": keys(199, 200)}), 200).await;
    let over = json!({"externalId": "bob", "attributes": keys(200, 201)});
    assert_eq!(
        workspace.api.post("/users", &over, 400).await.errors(),
        ["attributes must have at most 200 keys, received 201 after merging with those stored"]
    );
    post(&workspace, &json!({"externalId": "bob", "attributes": keys(50, 60)}), 200).await;
}

#[tokio::test]
async fn a_deleted_profiles_external_id_can_be_reused() {
    let workspace = Workspace::new().await;
    let first =
        post(&workspace, &json!({"externalId": "ann", "email": "ann@example.test"}), 201).await;
    let path = format!("/users/{}", id(&first));
    assert_eq!(delete(&workspace.api, &path, 204).await, "");
    delete(&workspace.api, &path, 404).await;
    workspace.api.get(&path, 404).await;
    workspace.api.get("/users/by-user-id/ann", 404).await;
    workspace.api.get(format!("{path}/events"), 404).await;
    put(&workspace.api, &path, &json!({}), 404).await;
    post(&workspace, &json!({"userId": id(&first)}), 404).await;
    let by_email = post(&workspace, &json!({"email": "ann@example.test"}), 201).await;
    let second =
        post(&workspace, &json!({"externalId": "ann", "email": "ann@example.test"}), 200).await;
    assert_eq!(second["id"], by_email["id"]);
    assert_ne!(second["id"], first["id"]);
}
