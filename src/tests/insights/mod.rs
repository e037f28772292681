//! `/insights/*`: trends, funnels and retention, over HTTP on the real engines.

mod bad_input;
mod filters;
mod formats;
mod funnels;
mod large;
mod model;
mod people;
mod random;
mod retention;
mod saved;
mod trends;

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::kit::{Workspace, eventually, unique};

/// Events in one request, which leaves room for a marker of each month.
const EVENTS_PER_REQUEST: usize = 400;

/// Sends events in several requests, and waits until they are stored. Those of a month and a request are stored together
/// or in their order, so the last of each month in each request is a marker.
async fn track(workspace: &Workspace, events: &[Value]) {
    let call = unique("call");
    let mut expected = 0;
    for some in events.chunks(EVENTS_PER_REQUEST) {
        let months: BTreeSet<&str> =
            some.iter().map(|event| &event["timestamp"].as_str().unwrap()[..7]).collect();
        let markers = months.iter().map(|month| {
            event("marker", "Marker", &format!("{month}-28T23:59:59Z"), json!({"call": call}))
        });
        let page = [some, &markers.collect::<Vec<Value>>()].concat();
        let answer = workspace.api.post("/events/track", &json!(page), 200).await.json();
        assert_eq!(answer["accepted"], page.len(), "{answer}");
        expected += months.len();
    }
    let filter = json!({"property": "call", "operator": "equals", "value": call});
    let question = json!({
        "series": [{"eventName": "Marker", "filters": [filter]}], "interval": "none",
        "from": "2000-01-01", "to": "2099-12-31",
    });
    eventually(&format!("the events of {call} are stored"), async || {
        let answer = workspace.api.post("/insights/trends", &question, 200).await.json();
        (answer["series"][0]["total"] == expected).then_some(())
    })
    .await;
}

/// The answer to a question about people who were written just now: one that would miss some is refused, and asked again.
async fn asked_at_once(workspace: &Workspace, kind: &str, question: &Value) -> Value {
    let path = format!("/insights/{kind}");
    eventually("profiles are copied in time", async || {
        let request = workspace.api.request(Method::POST, &path).json(question);
        let answer = request.send().await.unwrap();
        if answer.status() == 503 {
            assert!(answer.headers().contains_key("retry-after"));
            return None;
        }
        assert_eq!(answer.status(), 200);
        Some(answer.json().await.unwrap())
    })
    .await
}

async fn trends(workspace: &Workspace, question: Value) -> Value {
    workspace.api.post("/insights/trends", &question, 200).await.json()
}

/// The values of each series of an answer.
fn values(answer: &Value) -> Vec<Value> {
    let series = answer["series"].as_array().unwrap();
    series.iter().map(|it| it["values"].clone()).collect()
}

/// An event of a person.
fn event(user: &str, name: &str, at: &str, properties: Value) -> Value {
    json!({"userId": user, "eventName": name, "timestamp": at, "properties": properties})
}
