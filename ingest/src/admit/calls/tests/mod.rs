//! Calls of event SDKs: what each becomes, and what is wrong with it.

mod faults;
mod posthog;
mod segment;

use std::collections::HashSet;

use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::{
    admit::Sender,
    record::{EventView, ProfileCall, Sequence},
    window::Window,
};

/// 2026-11-21T12:00:00Z in Unix milliseconds.
const NOW_MS: i64 = 1_795_262_400_000;

/// A node: what surrounds requests.
#[derive(Default)]
struct Node {
    window: Window,
    sequence: Sequence,
    admitter: Admitter,
    is_watched: bool,
}

fn rules(protocol: Protocol) -> CallRules {
    let fault = |text: &str| (!text.contains('@')).then(|| "must be an email address".to_owned());
    CallRules {
        protocol,
        kind: None,
        may_change_profiles: true,
        email_fault: fault,
        phone_fault: |text| (!text.starts_with('+')).then(|| "must be a phone number".to_owned()),
    }
}

impl Node {
    fn admit(&mut self, rules: CallRules, body: &str) -> Result<AdmittedCalls, BodyError> {
        self.admit_from(Sender::Server, rules, body)
    }

    fn admit_from(
        &mut self,
        sender: Sender<'_>,
        rules: CallRules,
        body: &str,
    ) -> Result<AdmittedCalls, BodyError> {
        let context = Context {
            workspace_id: Uuid::from_u128(7),
            key_id: "key",
            is_watched: self.is_watched,
            received_at_ms: NOW_MS,
            window: &self.window,
            sequence: &self.sequence,
            sender,
        };
        self.admitter.admit_calls(body.as_bytes(), rules, &context)
    }
}

fn admit(protocol: Protocol, body: &Value) -> AdmittedCalls {
    Node::default().admit(rules(protocol), &body.to_string()).unwrap()
}

fn events(admitted: &AdmittedCalls) -> Vec<EventView<'_>> {
    admitted.events.iter().flat_map(Batch::events).collect()
}

fn profiles(admitted: &AdmittedCalls) -> Vec<ProfileCall<'_>> {
    admitted.profiles.iter().flat_map(Batch::profile_calls).collect()
}

/// The properties of an event as JSON.
fn properties(event: &EventView<'_>) -> Value {
    serde_json::from_str(event.properties).unwrap()
}

/// The errors of the only call of a request; empty when it was accepted.
fn errors(protocol: Protocol, call: &Value) -> Vec<String> {
    let admitted = admit(protocol, &json!({"batch": [call]}));
    assert_eq!(admitted.accepted + admitted.rejected.len(), 1);
    let is_recorded = admitted.events.is_some() || admitted.profiles.is_some();
    assert!(admitted.rejected.is_empty() || !is_recorded, "nothing of a faulty call is recorded");
    admitted.rejected.into_iter().flat_map(|rejected| rejected.errors).collect()
}

/// The body of a batch.
fn batch(calls: &[Value]) -> Value {
    json!({"batch": calls})
}
