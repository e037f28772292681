//! The protocols of Segment, RudderStack and PostHog, over HTTP on the real engines.

mod bodies;
mod browser_packages;
mod examples;
mod faulty_batches;
mod faulty_fields;
mod faulty_values;
mod half_failed;
mod identity_limits;
mod internal_ids;
mod keys;
mod killed;
mod killed_packages;
mod live;
mod many_calls;
mod packages;
mod posthog;
mod profiles;
mod segment;
mod two_nodes;

use kernel::Clock;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::Device;
use crate::kit::{Answer, Client, Workspace, eventually, server, unique};

/// A program or an app with a write key.
#[derive(Clone)]
struct Sender {
    http: Client,
    key: String,
}

impl Sender {
    /// A program with a key of these scopes.
    async fn of(workspace: &Workspace, scopes: &str) -> Self {
        let (key, _) = server().key(&workspace.name, scopes).await;
        Self { http: Client::anonymous(), key }
    }

    /// An app with a public key.
    async fn app(workspace: &Workspace) -> Self {
        Self { http: Client::anonymous(), key: Device::of(workspace).await.key }
    }

    /// A request with the key as the user name of Basic.
    fn request(&self, path: &str) -> RequestBuilder {
        self.http.request(Method::POST, path).basic_auth(&self.key, Some(""))
    }

    async fn post(&self, path: &str, body: &Value, status: u16) -> Answer {
        self.http.send(self.request(path).json(body), status).await
    }

    /// Sends a batch; fails the test when it is not taken.
    async fn batch(&self, calls: &[Value]) {
        let answer = self.post("/v1/batch", &json!({"batch": calls}), 200).await;
        assert_eq!(answer.json(), json!({"success": true}));
    }
}

/// Waits until so many events of the user are there, oldest first.
async fn events(workspace: &Workspace, user: &str, count: usize) -> Vec<Value> {
    eventually("the events are visible", || async {
        let path = format!("/events/query?userId={user}&limit=500");
        let events = workspace.api.get(path, 200).await.json();
        let mut events = events.as_array().unwrap().clone();
        assert!(events.len() <= count, "{events:?}");
        events.reverse();
        (events.len() == count).then_some(events)
    })
    .await
}

/// Waits until the profile of this external id is as asked for.
async fn profile(workspace: &Workspace, id: &str, is_there: impl Fn(&Value) -> bool) -> Value {
    eventually("the profile is as sent", || async {
        let found = search(workspace, id).await;
        let user = found.into_iter().find(|user| user["externalId"] == id)?;
        is_there(&user).then_some(user)
    })
    .await
}

async fn search(workspace: &Workspace, text: &str) -> Vec<Value> {
    let found = workspace.api.get(format!("/users/search?query={text}"), 200).await.json();
    found["data"].as_array().unwrap().clone()
}
