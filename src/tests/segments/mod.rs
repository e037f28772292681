//! `/segments` and what uses segments, over HTTP on the real engines.

mod bad_input;
mod campaigns;
mod crud;
mod identities;
mod limits;
mod profiles;
mod races;
mod uses;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::kit::{Client, Workspace};

/// A targeting of filters that all have to match.
fn all(filters: &[Value]) -> Value {
    json!({"filterGroups": [{"filters": filters}]})
}

/// A filter on the attribute `plan`.
fn plan(value: &str) -> Value {
    json!({"type": "attribute", "field": "plan", "operator": "equals", "value": value})
}

/// A filter on members of a segment, or on everyone else.
fn in_segment(segment: &Value, operator: &str) -> Value {
    json!({"type": "segment", "field": id(segment), "operator": operator})
}

fn id(segment: &Value) -> &str {
    segment["id"].as_str().unwrap()
}

fn path(segment: &Value) -> String {
    format!("/segments/{}", id(segment))
}

/// Creates a segment of this targeting in a workspace.
async fn create(workspace: &Workspace, name: &str, targeting: &Value) -> Value {
    let body = json!({"name": name, "targeting": targeting});
    workspace.api.post("/segments", &body, 201).await.json()
}

async fn put(client: &Client, path: &str, body: &Value, status: u16) -> Value {
    let request = client.request(reqwest::Method::PUT, path).json(body);
    client.send(request, status).await.json()
}

async fn delete(client: &Client, path: &str, status: u16) -> Value {
    let answer = client.send(client.request(reqwest::Method::DELETE, path), status).await;
    serde_json::from_str(&answer.text).unwrap_or_default()
}

/// Creates a profile with this external id and these attributes.
async fn person(workspace: &Workspace, external_id: &str, attributes: Value) -> Value {
    let body = json!({
        "externalId": external_id, "email": format!("{external_id}@example.test"),
        "attributes": attributes,
    });
    workspace.api.post("/users", &body, 201).await.json()
}

fn names(users: &Value, field: &str) -> BTreeSet<String> {
    let users = users.as_array().unwrap();
    users.iter().map(|user| user[field].as_str().unwrap().to_owned()).collect()
}

/// The external ids of a segment's members; the answers about its size agree with them.
async fn members(workspace: &Workspace, segment: &Value) -> BTreeSet<String> {
    let page = workspace.api.get(format!("{}/members?limit=200", path(segment)), 200).await.json();
    let members = names(&page["data"], "externalId");
    assert_eq!(page["pagination"]["total"], members.len());
    let read = workspace.api.get(path(segment), 200).await.json();
    assert_eq!(read["count"], members.len(), "{read}");
    members
}

/// The external ids that a preview of a targeting lists.
async fn previewed(workspace: &Workspace, targeting: &Value) -> BTreeSet<String> {
    let body = json!({"targeting": targeting, "limit": 500});
    let preview = workspace.api.post("/campaigns/preview", &body, 200).await.json();
    let users = names(&preview["users"], "externalId");
    assert_eq!(preview["total"], users.len());
    users
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}
