//! Calls that a rule refuses after they were acknowledged: they are listed beside those that were refused at once.

use std::collections::{BTreeMap, HashSet};

use contacts::events::ops::rejected;
use ingest::{
    admit::APP_EVENT_ID_PREFIX,
    record::ProfileCall,
    rejected::{EventSource, RejectedEvent},
};
use kernel::{Error, Result, WorkspaceId};
use serde::Serialize;
use serde_json::value::RawValue;
use web::Services;

/// A call that changed nothing, or not all that it says.
#[derive(Debug, Clone)]
pub(super) struct Refusal<'c> {
    pub(super) call: ProfileCall<'c>,
    pub(super) reason: String,
}

/// The reason of calls that no rule refuses.
const FAULT: &str = "it could not be applied because of a fault of the server: send it again";

impl<'c> Refusal<'c> {
    /// A call that breaks no rule and was not applied. Its id is not taken, so that it may be sent again.
    pub(super) fn of_fault(call: ProfileCall<'c>) -> Self {
        Self { call, reason: FAULT.to_owned() }
    }
}

/// Lists refused calls, each once, also when it is read again.
pub(super) async fn list(
    app: &Services,
    workspace: WorkspaceId,
    refusals: &[Refusal<'_>],
) -> Result<()> {
    let mut seen = HashSet::new();
    let mut keys: BTreeMap<Key<'_>, Vec<&Refusal<'_>>> = BTreeMap::new();
    for refusal in refusals {
        let Refusal { call, reason } = refusal;
        if seen.insert((call.key_id, call.call_id, call.user_id, reason.as_str())) {
            keys.entry(Key::of(call)).or_default().push(refusal);
        }
    }
    for (Key { id: key_id, is_public }, refusals) in keys {
        let samples: Vec<Vec<u8>> =
            refusals.iter().map(|it| sample(&it.call)).collect::<Result<_>>()?;
        let listed: Vec<RejectedEvent<'_>> =
            refusals.iter().zip(&samples).map(|(refusal, body)| event(refusal, body)).collect();
        let source = EventSource { workspace_id: workspace.uuid(), key_id, is_public };
        rejected::list_late(app, source, &listed).await?;
    }
    Ok(())
}

/// The key that calls came with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'c> {
    id: &'c str,
    is_public: bool,
}

impl<'c> Key<'c> {
    fn of(call: &ProfileCall<'c>) -> Self {
        Self { id: call.key_id, is_public: call.is_public }
    }
}

fn event<'r>(refusal: &'r Refusal<'_>, body: &'r [u8]) -> RejectedEvent<'r> {
    let Refusal { call, reason } = refusal;
    RejectedEvent {
        name: Some(call.name()),
        user_id: Some(call.user_id),
        event_id: Some(sent_id(call)),
        reason: reason.into(),
        body,
    }
}

/// The id that its sender gave it.
fn sent_id<'c>(call: &ProfileCall<'c>) -> &'c str {
    let sent = call.call_id.strip_prefix(APP_EVENT_ID_PREFIX).filter(|_| call.is_public);
    sent.unwrap_or(call.call_id)
}

/// What is kept of a call, in the names of Segment's protocol: its text as it was sent is gone by now.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sample<'c> {
    #[serde(rename = "type")]
    name: &'c str,
    message_id: &'c str,
    user_id: &'c str,
    #[serde(skip_serializing_if = "str::is_empty")]
    anonymous_id: &'c str,
    #[serde(skip_serializing_if = "str::is_empty")]
    previous_id: &'c str,
    #[serde(skip_serializing_if = "str::is_empty")]
    email: &'c str,
    #[serde(skip_serializing_if = "str::is_empty")]
    phone: &'c str,
    /// The traits besides, under their names here.
    #[serde(skip_serializing_if = "Option::is_none")]
    traits: Option<&'c RawValue>,
}

fn sample(call: &ProfileCall<'_>) -> Result<Vec<u8>> {
    let sample = Sample {
        name: call.name(),
        message_id: sent_id(call),
        user_id: call.user_id,
        anonymous_id: call.anonymous_id,
        previous_id: call.previous_id,
        email: call.email,
        phone: call.phone,
        traits: serde_json::from_str(call.attributes)
            .ok()
            .filter(|it: &&RawValue| it.get() != "{}"),
    };
    serde_json::to_vec(&sample).map_err(Error::internal)
}
