//! The same events as calls of Segment's protocol.

use anyhow::{Context, Result};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::{api::Intake, target::ApiKey};

/// Batches go to `/v1/batch`.
pub(super) fn batches(key: ApiKey) -> Intake {
    Intake::Segment { path: "/v1/batch", key }
}

/// Single calls go to `/v1/track`.
pub(super) fn singles(key: ApiKey) -> Intake {
    Intake::Segment { path: "/v1/track", key }
}

/// The body of a batch or a single call, from that of `POST /events/track`; ids differ, so that no event is a repeat.
/// Sessions and devices are left out: Segment's calls have no field for them.
///
/// # Errors
/// A body that holds no events.
pub(super) fn body(tracked: &Bytes) -> Result<Bytes> {
    let body = match serde_json::from_slice(tracked)? {
        Value::Array(events) => {
            let calls = events.into_iter().map(call).collect::<Result<Vec<_>>>()?;
            json!({"batch": calls})
        }
        event => call(event)?,
    };
    Ok(body.to_string().into())
}

fn call(event: Value) -> Result<Value> {
    let Value::Object(mut event) = event else { anyhow::bail!("an event is an object") };
    let id = event.remove("clientEventId").context("an event has an id")?;
    let mut call = Map::from_iter([
        ("type".to_owned(), json!("track")),
        ("messageId".to_owned(), json!(format!("{}-call", id.as_str().unwrap_or_default()))),
    ]);
    for (field, named) in [
        ("userId", "userId"),
        ("anonymousId", "anonymousId"),
        ("eventName", "event"),
        ("timestamp", "timestamp"),
        ("properties", "properties"),
    ] {
        if let Some(value) = event.remove(field) {
            call.insert(named.to_owned(), value);
        }
    }
    Ok(Value::Object(call))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_become_calls_with_ids_of_their_own() {
        let event = json!({"userId": "ann", "eventName": "Seen", "clientEventId": "e-1", "properties": {"a": 1}});
        let call = json!({"type": "track", "messageId": "e-1-call", "userId": "ann", "event": "Seen",
            "properties": {"a": 1}});
        let read = |tracked: &Value| {
            let body = body(&tracked.to_string().into()).unwrap();
            serde_json::from_slice::<Value>(&body).unwrap()
        };
        assert_eq!(read(&json!([event])), json!({"batch": [call]}));
        assert_eq!(read(&event), call);
    }
}
