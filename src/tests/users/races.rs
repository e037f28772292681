//! Concurrent callers: one person stays one profile, and no attribute is lost.

use serde_json::{Value, json};

use super::post;
use crate::kit::{Workspace, server};

/// Sends every body at the same time; gives how many were answered as created.
async fn at_once(workspace: &Workspace, bodies: Vec<Value>) -> usize {
    let calls: Vec<_> = bodies
        .into_iter()
        .map(|body| {
            let client = workspace.api.clone();
            tokio::spawn(async move {
                let request = client.request(reqwest::Method::POST, "/users").json(&body);
                let status = request.send().await.unwrap().status().as_u16();
                assert!(status == 200 || status == 201, "{status}");
                status == 201
            })
        })
        .collect();
    let mut created = 0;
    for call in calls {
        created += usize::from(call.await.unwrap());
    }
    created
}

async fn all(workspace: &Workspace) -> Vec<Value> {
    let page = workspace.api.get("/users?limit=200", 200).await.json();
    assert_eq!(page["pagination"]["total"], page["data"].as_array().unwrap().len());
    page["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_hundred_upserts_of_one_external_id_make_one_profile_with_every_attribute() {
    let workspace = Workspace::new().await;
    let body = |n: usize| json!({"externalId": "ann", "email": "ann@example.test", "attributes": {format!("k{n}"): n}});
    assert_eq!(at_once(&workspace, (0..100).map(body).collect()).await, 1);
    let users = all(&workspace).await;
    assert_eq!(users.len(), 1);
    assert_eq!(users[0]["attributes"].as_object().unwrap().len(), 100);
}

#[tokio::test]
async fn a_hundred_upserts_of_one_email_make_one_profile_with_every_attribute() {
    let workspace = Workspace::new().await;
    let body = |n: usize| json!({"email": "Ann@example.test", "attributes": {format!("k{n}"): n}});
    assert_eq!(at_once(&workspace, (0..100).map(body).collect()).await, 1);
    let users = all(&workspace).await;
    assert_eq!(users.len(), 1);
    assert_eq!(users[0]["attributes"].as_object().unwrap().len(), 100);
}

#[tokio::test]
async fn concurrent_upserts_adopt_an_email_only_profile_once() {
    let workspace = Workspace::new().await;
    let lead = post(&workspace, &json!({"email": "lead@example.test"}), 201).await;
    let mut bodies: Vec<Value> = (0..20)
        .map(|n| json!({"externalId": format!("c{n}"), "email": "lead@example.test"}))
        .collect();
    bodies.extend(
        (0..20).map(|n| json!({"email": "lead@example.test", "attributes": {format!("k{n}"): n}})),
    );
    // One of the twenty takes the lead over, the others are made.
    assert_eq!(at_once(&workspace, bodies).await, 19);
    let users = all(&workspace).await;
    assert_eq!(users.len(), 20);
    assert!(users.iter().all(|user| user["externalId"].is_string()));
    assert!(users.iter().any(|user| user["id"] == lead["id"]));
    let kept: usize = users.iter().map(|user| user["attributes"].as_object().unwrap().len()).sum();
    assert_eq!(kept, 20);
}

#[tokio::test]
async fn concurrent_upserts_by_email_and_by_external_id_make_one_profile() {
    let workspace = Workspace::new().await;
    let mut bodies = Vec::new();
    for n in 0..25 {
        let email = format!("p{n}@example.test");
        bodies.push(json!({"email": email}));
        bodies.push(json!({"externalId": format!("p{n}"), "email": email}));
    }
    assert_eq!(at_once(&workspace, bodies).await, 25);
    assert_eq!(all(&workspace).await.len(), 25);
}

#[tokio::test]
async fn concurrent_arrays_create_each_profile_once() {
    // Arrays lock their addresses before they look, single elements after: both must meet here, in
    // either order of the addresses.
    let workspace = Workspace::new().await;
    let element = |n: usize, of: usize| json!({"email": format!("p{n}@example.test"), "attributes": {format!("k{of}"): n}});
    let mut bodies: Vec<Value> = (0..8)
        .map(|of| {
            let mut elements: Vec<Value> = (0..120).map(|n| element(n, of)).collect();
            if of % 2 == 1 {
                elements.reverse();
            }
            Value::Array(elements)
        })
        .collect();
    bodies.extend((0..20).map(|n| element(n * 6, 8)));
    at_once(&workspace, bodies).await;
    let users = all(&workspace).await;
    assert_eq!(users.len(), 120);
    let kept: usize = users.iter().map(|user| user["attributes"].as_object().unwrap().len()).sum();
    assert_eq!(kept, 8 * 120 + 20);
}

#[tokio::test]
async fn a_profile_of_no_workspace_is_refused_by_the_database_itself() {
    let workspace = Workspace::new().await;
    post(&workspace, &json!({"externalId": "ann"}), 201).await;
    let (db, here) = (server().db(), workspace.id.uuid());
    let (stray, moved) = server()
        .on(async move {
            let elsewhere = uuid::Uuid::new_v4();
            let stray = sqlx::query(
                "insert into users (workspace_id, id, created_at, updated_at)
                 select w, decode('0123456789abcdef01234567', 'hex'), now(), now()
                 from unnest($1::uuid[]) w",
            )
            .bind(vec![here, elsewhere])
            .execute(&db)
            .await;
            let moved = sqlx::query("update users set workspace_id = $2 where workspace_id = $1")
                .bind(here)
                .bind(elsewhere)
                .execute(&db)
                .await;
            (stray, moved)
        })
        .await;
    for refused in [stray, moved] {
        let fault = refused.unwrap_err();
        assert!(fault.as_database_error().unwrap().is_foreign_key_violation(), "{fault}");
    }
    assert_eq!(all(&workspace).await.len(), 1);
}
