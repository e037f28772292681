//! A good caller, who tracks events and measures how long each takes.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::json;

use crate::single::fixture::Sender;

/// Events of one measurement.
const EVENTS: usize = 300;
/// One in so many comes by a connection of its own.
const FRESH_EVERY: usize = 10;

/// Tracks events one after the other, most by a connection that is kept; gives the 99th percentile of the time
/// they took. Fails the test when one of them is refused.
pub(super) async fn p99(server: &Sender) -> Duration {
    let kept = reqwest::Client::new();
    let fresh = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
    let mut times = Vec::with_capacity(EVENTS);
    for nth in 0..EVENTS {
        let client = if nth % FRESH_EVERY == 0 { &fresh } else { &kept };
        let begun = Instant::now();
        let request = client
            .post(format!("{}/events/track", server.url))
            .bearer_auth(&server.key)
            .json(&json!({"userId": "ann", "eventName": "Page Viewed"}));
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        let text = answer.text().await.expect("a whole answer");
        times.push(begun.elapsed());
        assert_eq!(status, StatusCode::OK, "event {nth}: {text}");
    }
    times.sort_unstable();
    times[EVENTS * 99 / 100 - 1]
}
