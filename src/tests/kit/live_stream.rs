//! `GET /events/live`, read part by part.

use std::time::Duration;

use reqwest::{Method, Response, StatusCode};
use serde_json::Value;

use super::Client;

/// Longest wait for the next part of a stream: longer than the interval of heartbeats.
const NEXT_MAX: Duration = Duration::from_mins(1);

/// A part of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Comment(String),
    Event(Value),
    Sampled(u64),
}

/// A stream that is read part by part.
#[derive(Debug)]
pub(crate) struct LiveStream {
    response: Response,
    text: Vec<u8>,
}

impl LiveStream {
    /// The stream that a response holds.
    pub(crate) const fn of(response: Response) -> Self {
        Self { response, text: Vec::new() }
    }

    /// Opens a stream that listens from now on.
    pub(crate) async fn open(client: &Client, query: &str) -> Self {
        let response =
            client.request(Method::GET, &format!("/events/live{query}")).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        let mut stream = Self::of(response);
        assert_eq!(stream.next().await, Some(Part::Comment("listening".to_owned())));
        stream
    }

    /// The next part; none at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Part> {
        loop {
            if let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let part: Vec<u8> = self.text.drain(..end + 2).collect();
                return Some(read(std::str::from_utf8(&part).unwrap()));
            }
            let chunk = tokio::time::timeout(NEXT_MAX, self.response.chunk()).await;
            match chunk.expect("a part or a heartbeat comes").unwrap() {
                Some(bytes) => self.text.extend_from_slice(&bytes),
                None => return None,
            }
        }
    }

    /// The next event that is shown.
    pub(crate) async fn event(&mut self) -> Value {
        loop {
            match self.next().await {
                Some(Part::Event(event)) => return event,
                Some(Part::Comment(_)) => {}
                other => panic!("no event but {other:?}"),
            }
        }
    }

    /// The names of the events up to the first of this name.
    pub(crate) async fn names_until(&mut self, last: &str) -> Vec<String> {
        let mut names = Vec::new();
        loop {
            let name = self.event().await["name"].as_str().unwrap_or("none").to_owned();
            if name == last {
                return names;
            }
            names.push(name);
        }
    }
}

fn read(part: &str) -> Part {
    let lines = |field: &str| {
        let lines = part.lines().filter_map(|line| line.strip_prefix(field));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>()
    };
    let data = lines("data:").join("\n");
    match (lines("event:").as_slice(), data.as_str()) {
        ([], "") => Part::Comment(lines(":").join("\n")),
        ([], data) => Part::Event(serde_json::from_str(data).unwrap()),
        (["sampled"], data) => {
            let data: Value = serde_json::from_str(data).unwrap();
            Part::Sampled(data["leftOut"].as_u64().unwrap())
        }
        other => panic!("{other:?}"),
    }
}
