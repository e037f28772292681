//! Creating, reading, changing, archiving and restoring lists.

use serde_json::{Value, json};

use crate::kit::{Client, Workspace};

pub(super) async fn put(client: &Client, path: &str, body: &Value, expected: u16) -> Value {
    let request = client.request(reqwest::Method::PUT, path).json(body);
    client.send(request, expected).await.json()
}

pub(super) async fn delete(client: &Client, path: &str, expected: u16) -> String {
    client.send(client.request(reqwest::Method::DELETE, path), expected).await.text
}

pub(super) async fn create(workspace: &Workspace, body: Value) -> Value {
    workspace.api.post("/lists", &body, 201).await.json()
}

fn names(lists: &Value) -> Vec<&str> {
    lists.as_array().unwrap().iter().map(|list| list["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_list_created_by_name_has_every_default() {
    let workspace = Workspace::new().await;
    let list = create(&workspace, json!({"name": "News"})).await;
    let expected = json!({
        "id": list["id"], "organizationId": list["organizationId"],
        "workspaceId": workspace.id.to_string(), "name": "News", "description": "",
        "channels": ["email"], "isPublic": true, "type": "marketing",
        "requireDoubleOptIn": false, "isDefault": false, "displayOrder": 2, "senderId": null,
        "archivedAt": null, "createdAt": list["createdAt"], "updatedAt": list["createdAt"],
    });
    assert_eq!(list, expected);
    let id = list["id"].as_str().unwrap();
    assert!(uuid::Uuid::parse_str(id).is_ok(), "{id}");
    assert_eq!(workspace.api.get(format!("/lists/{id}"), 200).await.json(), expected);
    // Ids are read in either case.
    workspace.api.get(format!("/lists/{}", id.to_uppercase()), 200).await;
}

#[tokio::test]
async fn every_field_of_a_list_is_stored_and_channels_are_deduplicated() {
    let workspace = Workspace::new().await;
    let list = create(
        &workspace,
        json!({"name": "  Orders  ", "description": "What you bought", "isPublic": false,
               "channels": ["sms", "email", "sms", "viber", "push", "whatsapp", "email"],
               "type": "transactional", "requireDoubleOptIn": true, "displayOrder": 77, "isDefault": true}),
    )
    .await;
    assert_eq!(list["name"], "Orders");
    assert_eq!(list["description"], "What you bought");
    assert_eq!(list["channels"], json!(["sms", "email", "viber", "push", "whatsapp"]));
    assert_eq!(list["isPublic"], false);
    assert_eq!(list["type"], "transactional");
    assert_eq!(list["requireDoubleOptIn"], true);
    // Not the caller's to set.
    assert_eq!((&list["displayOrder"], &list["isDefault"]), (&json!(2), &json!(false)));
}

#[tokio::test]
async fn a_workspace_starts_with_a_marketing_list_that_cannot_be_archived() {
    let workspace = Workspace::new().await;
    let lists = workspace.api.get("/lists", 200).await.json();
    assert_eq!(names(&lists), ["Marketing"]);
    assert_eq!(lists[0]["isDefault"], true);
    assert_eq!(lists[0]["displayOrder"], 1);
    let path = format!("/lists/{}", lists[0]["id"].as_str().unwrap());
    let refused = delete(&workspace.api, &path, 409).await;
    assert!(refused.contains("The default list cannot be archived"), "{refused}");
    workspace.api.get(&path, 200).await;
    assert_eq!(put(&workspace.api, &path, &json!({"name": "News"}), 200).await["isDefault"], true);
}

#[tokio::test]
async fn list_names_are_unique_ignoring_case_and_space_among_active_lists() {
    let workspace = Workspace::new().await;
    let list = create(&workspace, json!({"name": "News"})).await;
    for name in ["News", "news", " NEWS ", "\tnews\n"] {
        let refused = workspace.api.post("/lists", &json!({"name": name}), 409).await.json();
        let expected = format!("A list named \"{}\" already exists", name.trim());
        assert_eq!(refused["message"], expected.as_str());
        assert!(refused.get("errors").is_none());
    }
    let other = create(&workspace, json!({"name": "Offers"})).await;
    let other_path = format!("/lists/{}", other["id"].as_str().unwrap());
    let refused = put(&workspace.api, &other_path, &json!({"name": "nEws"}), 409).await;
    assert_eq!(refused["message"], "A list named \"nEws\" already exists");
    // Its own name is not in its way.
    put(&workspace.api, &other_path, &json!({"name": "OFFERS"}), 200).await;
    // Other workspaces have names of their own.
    create(&Workspace::new().await, json!({"name": "News"})).await;

    let path = format!("/lists/{}", list["id"].as_str().unwrap());
    delete(&workspace.api, &path, 204).await;
    create(&workspace, json!({"name": "news"})).await;
    let refused = workspace.api.post(&format!("{path}/restore"), &json!({}), 409).await.json();
    assert_eq!(refused["message"], "A list named \"News\" already exists");
}

#[tokio::test]
async fn an_archived_list_can_only_be_restored() {
    let workspace = Workspace::new().await;
    let list = create(&workspace, json!({"name": "News"})).await;
    let path = format!("/lists/{}", list["id"].as_str().unwrap());
    assert_eq!(delete(&workspace.api, &path, 204).await, "");
    for gone in [path.clone(), format!("{path}/stats"), format!("{path}/members")] {
        let answer = workspace.api.get(&gone, 404).await.json();
        assert_eq!(answer["message"], "List not found", "{gone}");
    }
    put(&workspace.api, &path, &json!({"name": "Other"}), 404).await;
    put(&workspace.api, &path, &json!({}), 404).await;
    delete(&workspace.api, &path, 404).await;
    let bulk = json!({"contactIds": ["0123456789abcdef01234567"], "channel": "email"});
    workspace.api.post(&format!("{path}/members/bulk"), &bulk, 404).await;
    let request = workspace.api.request(reqwest::Method::DELETE, &format!("{path}/members/bulk"));
    workspace.api.send(request.json(&bulk), 404).await;

    assert_eq!(names(&workspace.api.get("/lists", 200).await.json()), ["Marketing"]);
    let all = workspace.api.get("/lists?includeArchived=true", 200).await.json();
    assert_eq!(names(&all), ["News", "Marketing"]);
    assert!(all[0]["archivedAt"].is_string(), "{all}");

    let restored = workspace.api.post(&format!("{path}/restore"), &json!({}), 200).await.json();
    assert_eq!(restored["archivedAt"], Value::Null);
    assert_eq!(restored["displayOrder"], list["displayOrder"]);
    assert_eq!(workspace.api.get(&path, 200).await.json(), restored);
    // Restoring an active list changes nothing, not even its time. A body is not asked for.
    let request = workspace.api.request(reqwest::Method::POST, &format!("{path}/restore"));
    assert_eq!(workspace.api.send(request, 200).await.json(), restored);
}

#[tokio::test]
async fn a_patch_keeps_fields_it_does_not_name() {
    let workspace = Workspace::new().await;
    let list =
        create(&workspace, json!({"name": "News", "description": "d", "isPublic": false})).await;
    let path = format!("/lists/{}", list["id"].as_str().unwrap());
    assert_eq!(put(&workspace.api, &path, &json!({}), 200).await, list);
    assert_eq!(put(&workspace.api, &path, &json!({"unknown": 1, "name": null}), 200).await, list);

    let changed = put(&workspace.api, &path, &json!({"channels": ["push", "push"]}), 200).await;
    let mut expected = list.clone();
    expected["channels"] = json!(["push"]);
    expected["updatedAt"] = changed["updatedAt"].clone();
    assert_eq!(changed, expected);
    assert!(changed["updatedAt"].as_str() >= list["updatedAt"].as_str());

    for (field, value) in [
        ("name", json!("Other")),
        ("description", json!("")),
        ("isPublic", json!(true)),
        ("type", json!("transactional")),
        ("requireDoubleOptIn", json!(true)),
    ] {
        let changed = put(&workspace.api, &path, &json!({field: value}), 200).await;
        assert_eq!(changed[field], value);
        expected[field] = value;
        expected["updatedAt"] = changed["updatedAt"].clone();
        assert_eq!(changed, expected);
    }
    put(&workspace.api, &path, &json!({"description": "again"}), 200).await;
    assert_eq!(
        put(&workspace.api, &path, &json!({"description": null}), 200).await["description"],
        ""
    );
}

#[tokio::test]
async fn lists_are_newest_first_and_at_most_200() {
    let workspace = Workspace::new().await;
    for number in 0..200 {
        create(&workspace, json!({"name": format!("List {number}")})).await;
    }
    let lists = workspace.api.get("/lists", 200).await.json();
    let names = names(&lists);
    assert_eq!(names.len(), 200);
    assert_eq!((names[0], names[199]), ("List 199", "List 0"));
    for query in ["?includeArchived=TRUE", "?includeArchived=false", "?includeArchived="] {
        let lists = workspace.api.get(format!("/lists{query}"), 200).await.json();
        assert_eq!(lists.as_array().unwrap().len(), 200, "{query}");
    }
}

#[tokio::test]
async fn lists_created_concurrently_get_distinct_positions() {
    let workspace = Workspace::new().await;
    let made = (0..30).map(|number| {
        let body = json!({"name": format!("List {number}")});
        let workspace = &workspace;
        async move { create(workspace, body).await["displayOrder"].as_i64().unwrap() }
    });
    let mut places = futures_util::future::join_all(made).await;
    places.sort_unstable();
    assert_eq!(places, (2..=31).collect::<Vec<i64>>());
}

#[tokio::test]
async fn only_one_of_concurrent_lists_with_one_name_is_created() {
    let workspace = Workspace::new().await;
    let tries = (0..20).map(|_| {
        workspace.api.request(reqwest::Method::POST, "/lists").json(&json!({"name": "News"})).send()
    });
    let mut statuses: Vec<u16> = futures_util::future::join_all(tries)
        .await
        .into_iter()
        .map(|answer| answer.unwrap().status().as_u16())
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses[0], 201);
    assert_eq!(statuses[1..], [409; 19]);
}
