//! `GET /users/search` and `GET /users/deleted`.

use serde_json::{Value, json};

use super::{delete, id, post, put};
use crate::kit::Workspace;

async fn found(workspace: &Workspace, query: &str) -> Vec<String> {
    let path = format!("/users/search?query={query}");
    let page = workspace.api.get(path, 200).await.json();
    assert_eq!(page["pagination"]["total"], page["data"].as_array().unwrap().len(), "{query}");
    let data = page["data"].as_array().unwrap();
    data.iter().map(|user| user["externalId"].as_str().unwrap_or("-").to_owned()).collect()
}

async fn people() -> Workspace {
    let workspace = Workspace::new().await;
    for (external, email, phone, first, last) in [
        ("ann-1", "ann@example.test", "+49 151 1234567", "Ann", "Smith"),
        ("ann-12", "johanna@example.test", "+49 151 7654321", "Johanna", "Ångström"),
        ("Order_1", "shop@example.test", "0049 170 1", "Jürgen", "Ann-Lee"),
        ("zzz", "anna@example.test", "12345", "50%", "Off\\_x"),
    ] {
        let user = json!({"externalId": external, "email": email, "phone": phone,
            "attributes": {"firstName": first, "lastName": last}});
        post(&workspace, &user, 201).await;
    }
    workspace
}

#[tokio::test]
async fn search_ranks_exact_matches_then_prefixes_then_name_parts() {
    let workspace = people().await;
    for (query, expected) in [
        // Exact; then identifiers that begin so, latest first.
        ("ann-1", vec!["ann-1", "ann-12"]),
        ("ANN-1", vec!["ann-1", "ann-12"]),
        ("ann@example.test", vec!["ann-1"]),
        // Identifiers that begin so, then names that hold it.
        ("ann", vec!["zzz", "ann-12", "ann-1", "Order_1"]),
        ("order_", vec!["Order_1"]),
        ("Order_1", vec!["Order_1"]),
        ("order%25", vec![]),
        ("smith", vec!["ann-1"]),
        ("ann smi", vec!["ann-1"]),
        ("%C3%A5ngstr%C3%B6m", vec!["ann-12"]),
        ("J%C3%9CRGEN", vec!["Order_1"]),
        ("50%25", vec!["zzz"]),
        ("f%5C_x", vec!["zzz"]),
        ("sm", vec!["ann-1"]),
        ("+49 151 1234567", vec!["ann-1"]),
        ("%2B49%20151", vec!["ann-12", "ann-1"]),
        ("49151", vec!["ann-12", "ann-1"]),
        ("0049151", vec!["ann-12", "ann-1"]),
        ("12345", vec!["zzz"]),
        ("unknown", vec![]),
        ("%20shop%20", vec!["Order_1"]),
    ] {
        let query = query.replace(' ', "%20").replace('+', "%2B");
        assert_eq!(found(&workspace, &query).await, expected, "{query}");
    }
    let page = workspace.api.get("/users/search?query=ann&limit=1", 200).await.json();
    let internal = id(&page["data"][0]).to_owned();
    assert_eq!(page["pagination"], json!({"total": 4, "limit": 1, "offset": 0, "hasMore": true}));
    assert_eq!(found(&workspace, &internal).await, ["zzz"]);
    assert_eq!(found(&workspace, &internal.to_uppercase()).await, ["zzz"]);
    let rest = workspace.api.get("/users/search?query=ann&limit=200&offset=3", 200).await.json();
    assert_eq!(rest["data"].as_array().unwrap().len(), 1);
    let past = workspace.api.get("/users/search?query=ann&offset=100", 200).await.json();
    assert_eq!((&past["data"], &past["pagination"]["total"]), (&json!([]), &json!(4)));
    assert_eq!(found(&Workspace::new().await, "ann").await, [""; 0]);
}

#[tokio::test]
async fn search_reflects_every_change() {
    let workspace = people().await;
    let ann = workspace.api.get("/users/by-user-id/ann-1", 200).await.json();
    put(
        &workspace.api,
        "/users/by-user-id/ann-1",
        &json!({"attributes": {"lastName": "Jones"}}),
        200,
    )
    .await;
    assert_eq!(found(&workspace, "smith").await, [""; 0]);
    assert_eq!(found(&workspace, "jones").await, ["ann-1"]);
    put(
        &workspace.api,
        "/users/by-user-id/ann-1",
        &json!({"email": "x@example.test", "phone": null, "attributes": {"lastName": null}}),
        200,
    )
    .await;
    assert_eq!(found(&workspace, "jones").await, [""; 0]);
    assert_eq!(found(&workspace, "ann@example.test").await, [""; 0]);
    assert_eq!(found(&workspace, "x@example").await, ["ann-1"]);
    delete(&workspace.api, &format!("/users/{}", id(&ann)), 204).await;
    for query in ["ann-1", "x@example.test", id(&ann)] {
        assert!(!found(&workspace, query).await.contains(&"ann-1".to_owned()), "{query}");
    }
}

#[tokio::test]
async fn a_blank_or_oversized_query_is_refused() {
    let workspace = Workspace::new().await;
    for (query, error) in [
        ("", "query is required"),
        ("?query=", "query is required"),
        ("?query=%20%20", "query must not be blank"),
        ("?query=%00", "query must not contain NUL characters"),
        (&format!("?query={}", "x".repeat(256)), "query must be at most 255 characters"),
    ] {
        let answer = workspace.api.get(format!("/users/search{query}"), 400).await;
        assert_eq!(answer.errors(), [error], "{query}");
    }
    workspace.api.get(format!("/users/search?query={}", "x".repeat(255)), 200).await;
    workspace.with_scopes("users:write").await.get("/users/search?query=a", 403).await;
    workspace.with_scopes("users:write").await.get("/users/deleted", 403).await;
}

/// A workspace of which three profiles were deleted, and their ids.
async fn three_deleted() -> (Workspace, Vec<String>) {
    let workspace = people().await;
    let mut ids = Vec::new();
    for (external, reason) in
        [("ann-1", "?reason=asked%20for%20it"), ("Order_1", ""), ("zzz", "?reason=")]
    {
        let user = workspace.api.get(format!("/users/by-user-id/{external}"), 200).await.json();
        delete(&workspace.api, &format!("/users/{}{reason}", id(&user)), 204).await;
        ids.push(id(&user).to_owned());
    }
    (workspace, ids)
}

async fn bin(workspace: &Workspace, query: &str) -> Value {
    workspace.api.get(format!("/users/deleted{query}"), 200).await.json()
}

fn external_ids(bin: &Value) -> Vec<&str> {
    let items = bin["items"].as_array().unwrap();
    items.iter().map(|one| one["externalId"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_bin_lists_deleted_profiles_with_time_actor_and_reason() {
    let (workspace, ids) = three_deleted().await;
    let all = bin(&workspace, "").await;
    assert_eq!(external_ids(&all), ["zzz", "Order_1", "ann-1"]);
    assert_eq!(all["total"], 3);
    let ann = &all["items"][2];
    let by = ann["deletedBy"].as_str().unwrap();
    assert!(by.starts_with("api_key:") && by.len() == "api_key:".len() + 12, "{by}");
    assert!(ann["deletedAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        (
            &ann["originalId"],
            &ann["email"],
            &ann["phone"],
            &ann["deletedVia"],
            &ann["deletedReason"],
            &ann["restoredAt"]
        ),
        (
            &json!(ids[0]),
            &json!("ann@example.test"),
            &json!("+49 151 1234567"),
            &json!("api"),
            &json!("asked for it"),
            &Value::Null
        )
    );
    assert_eq!(
        (&all["items"][0]["deletedReason"], &all["items"][1]["deletedReason"]),
        (&Value::Null, &Value::Null)
    );
    let other = Workspace::new().await;
    assert_eq!(other.api.get("/users/deleted", 200).await.json(), json!({"total": 0, "items": []}));
}

#[tokio::test]
async fn the_bin_is_searched_by_identifier_prefix_and_paged() {
    let (workspace, ids) = three_deleted().await;
    for (query, expected) in [
        ("ANN", vec!["zzz", "ann-1"]),
        ("order", vec!["Order_1"]),
        ("shop@", vec!["Order_1"]),
        ("example", vec![]),
        ("%2B491511234567", vec!["ann-1"]),
        ("0049%20151%201234567", vec!["ann-1"]),
        ("%2B49151", vec![]),
        ("0049%20170%201", vec!["Order_1"]),
        ("0049%20170", vec![]),
        (ids[1].as_str(), vec!["Order_1"]),
        ("johanna", vec![]),
        ("%20", vec!["zzz", "Order_1", "ann-1"]),
    ] {
        let found = bin(&workspace, &format!("?query={query}")).await;
        assert_eq!(external_ids(&found), expected, "{query}");
        assert_eq!(found["total"], expected.len(), "{query}");
    }
    let page = bin(&workspace, "?limit=1&offset=1").await;
    assert_eq!((external_ids(&page), &page["total"]), (vec!["Order_1"], &json!(3)));
    let page = bin(&workspace, "?query=ann&limit=1&offset=1").await;
    assert_eq!((external_ids(&page), &page["total"]), (vec!["ann-1"], &json!(2)));
    assert_eq!(bin(&workspace, "?query=ann&offset=9").await["total"], 2);
}
