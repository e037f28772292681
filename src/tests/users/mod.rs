//! `/users/*`.

mod array;
mod changes;
mod events;
mod inline;
mod races;
mod search;
mod upsert;

use reqwest::Method;
use serde_json::Value;

use crate::kit::{Client, Workspace};

/// Sends a PUT and gives the answer's JSON.
async fn put(client: &Client, path: &str, body: &Value, expected: u16) -> Value {
    client.send(client.request(Method::PUT, path).json(body), expected).await.json()
}

async fn delete(client: &Client, path: &str, expected: u16) -> String {
    client.send(client.request(Method::DELETE, path), expected).await.text
}

/// Posts one user and gives the answer's JSON.
async fn post(workspace: &Workspace, user: &Value, expected: u16) -> Value {
    workspace.api.post("/users", user, expected).await.json()
}

fn id(user: &Value) -> &str {
    user["id"].as_str().unwrap()
}
