//! Who may request what, and what is refused.

use serde_json::{Value, json};

use super::{ended, erase, request, workspace};
use crate::kit::{Client, eventually, unique};

#[tokio::test]
async fn a_request_names_one_person_by_one_identifier() {
    let workspace = workspace().await;
    let api = &workspace.api;
    for (body, problem) in [
        (json!({"type": "erase"}), "exactly one of userId, externalId and email"),
        (json!({"type": "erase", "userId": "a", "email": "a@example.test"}), "exactly one of"),
        (json!({"externalId": "a"}), "type is required"),
        (json!({"type": "forget", "externalId": "a"}), "type must be one of"),
        (json!({"type": "erase", "externalId": 7}), "externalId must be a string"),
        (json!({"type": "erase", "email": "nowhere"}), "email must be an email address"),
        (json!({"type": "erase", "externalId": "a", "events": "hide"}), "events must be one of"),
        (
            json!({"type": "export", "externalId": "a", "events": "delete"}),
            "events is for requests of type erase",
        ),
        (json!({"type": "erase", "externalId": ""}), "externalId"),
    ] {
        let answer = api.post("/privacy/requests", &body, 400).await;
        assert!(answer.text.contains(problem), "{body}: {}", answer.text);
    }
    for body in [
        json!({"type": "erase", "externalId": "unknown"}),
        json!({"type": "erase", "userId": "000000000000000000000000"}),
        json!({"type": "erase", "userId": "unknown"}),
        json!({"type": "export", "email": "unknown@example.test"}),
    ] {
        let answer = api.post("/privacy/requests", &body, 404).await;
        assert!(answer.text.contains("User not found"), "{}", answer.text);
    }
    api.get("/privacy/requests/7", 404).await;
    let limited = workspace.with_scopes("users:read,users:write").await;
    limited.post("/privacy/requests", &json!({"type": "erase", "externalId": "a"}), 403).await;
    limited.get("/privacy/requests", 403).await;
}

#[tokio::test]
async fn an_address_of_several_profiles_is_refused_and_a_deleted_profile_can_be_erased() {
    let workspace = workspace().await;
    let api = &workspace.api;
    let shared = json!({"email": "shared@example.test"});
    let mut ids = Vec::new();
    for external in ["one", "two"] {
        let made = api.post("/users", &json!({"externalId": external}), 201).await.json();
        let id = made["id"].as_str().unwrap().to_owned();
        let path = format!("/users/{id}");
        api.send(api.request(reqwest::Method::PUT, &path).json(&shared), 200).await;
        ids.push(id);
    }
    let body = json!({"type": "erase", "email": "shared@example.test"});
    let answer = api.post("/privacy/requests", &body, 409).await;
    assert!(answer.text.contains("2 profiles"), "{}", answer.text);
    let delete = api.request(reqwest::Method::DELETE, &format!("/users/{}", ids[0]));
    api.send(delete, 204).await;
    erase(api, json!({"userId": ids[0]})).await;
    let bin = api.get("/users/deleted", 200).await.json();
    assert_eq!((&bin["items"], &bin["total"]), (&json!([]), &json!(0)));
    let other = api.get(format!("/users/{}", ids[1]), 200).await.json();
    assert_eq!(other["email"], "shared@example.test", "who shares an address stays");
}

#[tokio::test]
async fn many_people_at_once_and_one_twice_are_erased_together() {
    let workspace = workspace().await;
    let api = &workspace.api;
    let name = |n: usize| format!("p{n}");
    let users: Vec<Value> = (0..40).map(|n| json!({"externalId": name(n)})).collect();
    api.post("/users", &json!(users), 200).await;
    let merge = json!({"from": name(1), "into": name(0)});
    api.post("/users/merge", &merge, 200).await;
    let mut ids = Vec::new();
    // One after the other, which is merged into the first and joins it.
    for n in (0..40).filter(|n| *n != 1) {
        ids.push(request(api, &json!({"type": "erase", "externalId": name(n)})).await);
    }
    let again = json!({"type": "erase", "externalId": name(39)});
    let answer = api.request(reqwest::Method::POST, "/privacy/requests").json(&again);
    let answer = answer.send().await.unwrap();
    // It may be gone by now.
    assert!([200, 404].contains(&answer.status().as_u16()), "{answer:?}");
    for id in &ids {
        assert_eq!(ended(api, id).await["state"], "done");
    }
    assert_eq!(api.get("/users", 200).await.json()["pagination"]["total"], 0);
    api.get(format!("/users/by-user-id/{}", name(1)), 404).await;
    let page = api.get("/privacy/requests?state=done&limit=5", 200).await.json();
    assert_eq!(
        (&page["pagination"]["total"], page["data"].as_array().unwrap().len()),
        (&json!(39), 5)
    );
    let audit = api.get("/audit?action=privacy.requested", 200).await.json();
    assert_eq!(audit["pagination"]["total"], 39);
    assert!(!audit.to_string().contains("\"p39\""), "nothing about the person: {audit}");
    let other = super::workspace().await;
    other.api.get(format!("/privacy/requests/{}", ids[0]), 404).await;
    assert_eq!(other.api.get("/privacy/requests", 200).await.json()["pagination"]["total"], 0);
}

#[tokio::test]
async fn a_second_request_joins_the_open_one_and_one_that_differs_is_refused() {
    let workspace = workspace().await;
    let api = &workspace.api;
    let external = unique("ann");
    // The last of many, so that it waits when it is requested again.
    let users: Vec<Value> =
        (0..20).map(|n| json!({"externalId": format!("{external}-{n}")})).collect();
    api.post("/users", &json!(users), 200).await;
    for n in 0..19 {
        request(api, &json!({"type": "erase", "externalId": format!("{external}-{n}")})).await;
    }
    let body =
        json!({"type": "erase", "externalId": format!("{external}-19"), "events": "anonymize"});
    let first = request(api, &body).await;
    let second = api.post("/privacy/requests", &body, 200).await.json();
    assert_eq!(second["id"].as_str(), Some(first.as_str()));
    let mut other = body.clone();
    other["events"] = json!("delete");
    let answer = api.post("/privacy/requests", &other, 409).await;
    assert!(answer.text.contains("events: anonymize"), "{}", answer.text);
    assert_eq!(ended(api, &first).await["state"], "done");
    eventually("all are erased", || async {
        let total = api.get("/users", 200).await.json()["pagination"]["total"].as_u64();
        (total == Some(0)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_was_removed_from_others_and_who_it_was_removed_from_are_erased() {
    let workspace = workspace().await;
    let api = &workspace.api;
    let (ann, bob) = (unique("ann"), unique("bob"));
    let mut ids = Vec::new();
    for external in [&ann, &bob] {
        let made = api.post("/users", &json!({"externalId": external}), 201).await.json();
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    // Links of the other's id, and their removal.
    let (key, _) = workspace.server.key(&workspace.name, "events:write,users:write").await;
    let call = json!({"batch": [{"type": "identify", "userId": ann, "anonymousId": bob}]});
    let anyone = Client::new(&workspace.server.url, None);
    let batch = anyone.request(reqwest::Method::POST, "/v1/batch").basic_auth(key, Some(""));
    anyone.send(batch.json(&call), 200).await;
    eventually("the id is linked", || async {
        let found = api.get(format!("/users/{ann}/identities"), 200).await.json();
        (found["data"].as_array().unwrap().len() == 3).then_some(())
    })
    .await;
    let remove = api.request(reqwest::Method::DELETE, &format!("/users/{ann}/identities"));
    let removed = api.send(remove.json(&json!({"ids": [bob]})), 200).await.json();
    assert_eq!(removed, json!({"removed": 1}));
    let object = async || {
        let audit = api.get("/audit?action=user.identities_removed", 200).await.json();
        audit["data"][0]["object"]["id"].clone()
    };
    assert_eq!(object().await, json!(ids[0]));
    let mut requests = Vec::new();
    for external in [&ann, &bob] {
        requests.push(request(api, &json!({"type": "erase", "externalId": external})).await);
    }
    for id in &requests {
        assert_eq!(ended(api, id).await["state"], "done");
    }
    let (db, id, text) = (workspace.server.db(), workspace.id.uuid(), bob.clone());
    let count = async move {
        let sql = "select count(*) from identity where workspace_id = $1 and id = $2";
        sqlx::query_scalar::<_, i64>(sql).bind(id).bind(text).fetch_one(&db).await.unwrap()
    };
    assert_eq!(workspace.server.on(count).await, 0);
    assert_eq!(object().await, json!(""));
}
