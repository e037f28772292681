//! The specification's rules for tracked events, each at its boundary and one past it.

mod any;
mod fields;
mod properties;
mod requests;
mod senders;

use serde_json::{Value, json};

use super::*;

/// 2026-11-21T00:00:00Z in Unix milliseconds.
const NOW_MS: i64 = 1_795_219_200_000;
const WORKSPACE: Uuid = Uuid::from_u128(7);

/// A node: what surrounds requests.
#[derive(Default)]
struct Node {
    window: Window,
    sequence: Sequence,
    admitter: Admitter,
}

impl Node {
    fn admit_at(&mut self, body: &str, now_ms: i64) -> Result<Admitted, BodyError> {
        self.admit_from(Sender::Server, body, now_ms)
    }

    fn admit_from(
        &mut self,
        sender: Sender<'_>,
        body: &str,
        now_ms: i64,
    ) -> Result<Admitted, BodyError> {
        let context = Context {
            workspace_id: WORKSPACE,
            key_id: "key",
            is_watched: false,
            received_at_ms: now_ms,
            window: &self.window,
            sequence: &self.sequence,
            sender,
        };
        self.admitter.admit(body.as_bytes(), &context)
    }

    fn admit(&mut self, body: &str) -> Result<Admitted, BodyError> {
        self.admit_at(body, NOW_MS)
    }
}

fn admit(body: &str) -> Result<Admitted, BodyError> {
    Node::default().admit(body)
}

/// The messages one event is refused with; empty when it is accepted.
fn errors(event: &str) -> Vec<String> {
    let admitted = admit(event).unwrap();
    assert_eq!(admitted.accepted + admitted.rejected.len(), 1);
    assert_eq!(admitted.batch.is_some(), admitted.rejected.is_empty());
    admitted.rejected.into_iter().flat_map(|rejected| rejected.errors).collect()
}

/// An otherwise good event with one field set; `null` keys are left as they are.
fn with(field: &str, value: Value) -> String {
    let mut event = json!({"userId": "u", "eventName": "Page Viewed"});
    event[field] = value;
    event.to_string()
}

/// An otherwise good event whose properties are this JSON text.
fn with_properties(properties: &str) -> String {
    format!(r#"{{"userId":"u","eventName":"Page Viewed","properties":{properties}}}"#)
}

/// The properties stored for that text.
fn stored_properties(properties: &str) -> String {
    let admitted = admit(&with_properties(properties)).unwrap();
    let batch = admitted.batch.unwrap_or_else(|| panic!("{:?}", admitted.rejected));
    batch.events().next().unwrap().properties.to_owned()
}

/// The numbers stored for that text.
fn stored_numbers(properties: &str) -> Vec<(String, f64)> {
    let batch = admit(&with_properties(properties)).unwrap().batch.unwrap();
    let numbers = batch.events().next().unwrap().numbers();
    numbers.map(|(path, value)| (path.to_owned(), value)).collect()
}
