//! Erasing and exporting what is stored of a person.

mod batches;
mod canary;
mod exports;
mod nodes;
mod opt_outs;
mod remaining;
mod requests;
mod sends;
mod tables;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::kit::{
    Client, TestServer, WhileUsed, Workspace, data_dir, eventually, run, settings, unique,
};

/// How long an erasure may take here; machines that run tests are busy.
pub(crate) const DONE_MAX: Duration = Duration::from_mins(8);

/// A server for these tests: an erasure writes the files of its stores anew, which would be those of all tests.
static SERVER: WhileUsed<TestServer> = WhileUsed::new();

/// A workspace in which people may be erased.
pub(crate) async fn workspace() -> Workspace {
    let start = || run(settings(&data_dir(&unique("privacy")), &[]), kernel::Clock::system());
    let server = SERVER.get(async || tokio::task::spawn_blocking(start).await.unwrap()).await;
    Workspace::on(&server).await
}

/// Makes a request and returns its id.
async fn request(api: &Client, body: &Value) -> String {
    let made = api.post("/privacy/requests", body, 201).await.json();
    assert_eq!(made["state"], "pending", "{made}");
    made["id"].as_str().unwrap().to_owned()
}

/// Waits until a request has ended, and returns it.
async fn ended(api: &Client, id: &str) -> Value {
    let began = Instant::now();
    loop {
        let found = api.get(format!("/privacy/requests/{id}"), 200).await.json();
        if !matches!(found["state"].as_str().unwrap(), "pending" | "running") {
            return found;
        }
        assert!(began.elapsed() < DONE_MAX, "not done in time: {found}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Erases a person, named by these fields.
async fn erase(api: &Client, mut body: Value) {
    body["type"] = json!("erase");
    let id = request(api, &body).await;
    let done = ended(api, &id).await;
    assert_eq!((&done["state"], &done["userId"]), (&json!("done"), &Value::Null), "{done}");
}

/// Waits until so many events of a user are found.
async fn until_events(api: &Client, user: &str, count: usize) -> Vec<Value> {
    eventually("events are stored", || async {
        let found = api.get(format!("/events/query?userId={user}&limit=1000"), 200).await.json();
        let events = found.as_array().unwrap().clone();
        (events.len() == count).then_some(events)
    })
    .await
}
