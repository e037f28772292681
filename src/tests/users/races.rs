//! Many callers at once: one person stays one profile, and no attribute is lost.

use serde_json::{Value, json};

use super::post;
use crate::kit::Workspace;

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
async fn one_address_with_many_external_ids_is_adopted_once_and_never_doubled() {
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
async fn an_email_alone_and_an_external_id_with_it_never_make_two_of_one_person() {
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
