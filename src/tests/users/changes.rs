//! `PUT` and `GET /users`: changing known profiles, and listing them.

use serde_json::{Value, json};

use super::{delete, id, post, put};
use crate::kit::Workspace;

#[tokio::test]
async fn a_patch_keeps_fields_it_does_not_name() {
    let workspace = Workspace::new().await;
    let sent = json!({"externalId": "ann", "email": "ann@example.test", "phone": "12345", "attributes": {"a": 1, "b": {"c": 1}}});
    let ann = post(&workspace, &sent, 201).await;
    for path in [format!("/users/{}", id(&ann)), "/users/by-user-id/ann".to_owned()] {
        let changed = put(
            &workspace.api,
            &path,
            &json!({"attributes": {"b": {"d": 2}}, "externalId": "bob"}),
            200,
        )
        .await;
        assert_eq!(changed["attributes"], json!({"a": 1, "b": {"d": 2}}));
        assert_eq!(changed["externalId"], "ann");
        // Nothing said, nothing changed, not even the time.
        for nothing in [
            json!({}),
            json!({"externalId": "bob"}),
            json!({"email": "", "phone": "", "attributes": null}),
        ] {
            assert_eq!(put(&workspace.api, &path, &nothing, 200).await, changed, "{nothing}");
        }
        let cleared = put(&workspace.api, &path, &json!({"email": null, "phone": null}), 200).await;
        assert_eq!((&cleared["email"], &cleared["phone"]), (&Value::Null, &Value::Null));
        assert!(cleared["updatedAt"].as_str() >= changed["updatedAt"].as_str());
        put(&workspace.api, &path, &json!({"email": "Ann@Example.test", "phone": "12345"}), 200)
            .await;
        let errors =
            put(&workspace.api, &path, &json!({"email": 1, "phone": [], "attributes": "x"}), 400)
                .await;
        assert_eq!(
            errors["errors"],
            json!([
                "email must be a string",
                "phone must be a string",
                "attributes must be an object"
            ])
        );
    }
}

#[tokio::test]
async fn an_unknown_profile_is_404_by_either_id_and_in_either_workspace() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let ann = post(&workspace, &json!({"externalId": "ann"}), 201).await;
    for path in [format!("/users/{}", id(&ann)), "/users/by-user-id/ann".to_owned()] {
        other.api.get(&path, 404).await;
        assert_eq!(
            put(&other.api, &path, &json!({"phone": "12345"}), 404).await["message"],
            "User not found"
        );
    }
    delete(&other.api, &format!("/users/{}", id(&ann)), 404).await;
    for path in ["/users/ann", "/users/0123", "/users/by-user-id/%00", "/users/by-user-id/unknown"]
    {
        workspace.api.get(path, 404).await;
        put(&workspace.api, path, &json!({}), 404).await;
    }
    delete(&workspace.api, "/users/ann", 404).await;
    delete(&workspace.api, &format!("/users/{}?reason={}", id(&ann), "x".repeat(256)), 400).await;
    delete(&workspace.api, &format!("/users/{}?reason={}", id(&ann), "x".repeat(255)), 204).await;
}

#[tokio::test]
async fn the_list_is_newest_change_first_with_an_exact_total() {
    let workspace = Workspace::new().await;
    let empty = workspace.api.get("/users", 200).await.json();
    assert_eq!(
        empty,
        json!({"data": [], "pagination": {"total": 0, "limit": 50, "offset": 0, "hasMore": false}})
    );
    for name in ["a", "b", "c"] {
        post(&workspace, &json!({"externalId": name}), 201).await;
    }
    put(&workspace.api, "/users/by-user-id/a", &json!({"attributes": {"x": 1}}), 200).await;
    let list = async |query: &str| workspace.api.get(format!("/users{query}"), 200).await.json();
    let names = |page: &Value| -> Vec<String> {
        page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|u| u["externalId"].as_str().unwrap().to_owned())
            .collect()
    };
    let page = list("").await;
    assert_eq!(names(&page), ["a", "c", "b"]);
    assert_eq!(page["data"][0]["attributes"], json!({"x": 1}));
    let page = list("?limit=2").await;
    assert_eq!(page["pagination"], json!({"total": 3, "limit": 2, "offset": 0, "hasMore": true}));
    let page = list("?limit=2&offset=2").await;
    assert_eq!(
        (names(&page), &page["pagination"]["hasMore"]),
        (vec!["b".to_owned()], &json!(false))
    );
    for (query, limit) in [("?limit=201", 200), ("?limit=0", 50), ("?limit=x", 50)] {
        assert_eq!(list(query).await["pagination"]["limit"], limit, "{query}");
    }
    let a = id(&list("?limit=1").await["data"][0]).to_owned();
    delete(&workspace.api, &format!("/users/{a}"), 204).await;
    let page = list("?offset=99999999999999999999").await;
    assert_eq!((&page["data"], &page["pagination"]["total"]), (&json!([]), &json!(2)));
}

#[tokio::test]
async fn each_user_call_requires_its_scope() {
    let workspace = Workspace::new().await;
    let ann = post(&workspace, &json!({"externalId": "ann"}), 201).await;
    let path = format!("/users/{}", id(&ann));
    for (scope, read, write, remove) in [
        ("users:read", 200, 403, 403),
        ("users:write", 403, 200, 403),
        ("users:delete", 403, 403, 204),
    ] {
        let client = workspace.with_scopes(scope).await;
        for path in ["/users", path.as_str(), "/users/by-user-id/ann"] {
            client.get(path, read).await;
        }
        client.post("/users", &json!({"externalId": "ann"}), write).await;
        put(&client, &path, &json!({}), write).await;
        put(&client, "/users/by-user-id/ann", &json!({}), write).await;
        delete(&client, &path, remove).await;
    }
}
