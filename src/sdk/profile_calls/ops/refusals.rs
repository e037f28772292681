//! Calls that a rule refuses after they were acknowledged: they are listed beside those that were refused at once.

use std::collections::HashSet;

use contacts::events::ops::rejected;
use ingest::{
    admit::APP_EVENT_ID_PREFIX,
    record::ProfileCall,
    rejected::{EventSource, RejectedEvent},
};
use kernel::{Result, WorkspaceId};
use web::Services;

/// A call that changed nothing, or not all that it says.
#[derive(Debug, Clone)]
pub(super) struct Refusal<'c> {
    pub(super) call: ProfileCall<'c>,
    pub(super) reason: String,
}

/// Lists refused calls, each once, also when it is read again.
pub(super) async fn list(
    app: &Services,
    workspace: WorkspaceId,
    refusals: &[Refusal<'_>],
) -> Result<()> {
    // Calls do not carry their key.
    let source = EventSource { workspace_id: workspace.uuid(), key_id: "" };
    let mut seen = HashSet::new();
    let events: Vec<RejectedEvent<'_>> = refusals
        .iter()
        .filter(|it| seen.insert((it.call.call_id, it.call.user_id, it.reason.as_str())))
        .map(event)
        .collect();
    rejected::list_late(app, source, &events).await
}

fn event<'r>(refusal: &'r Refusal<'_>) -> RejectedEvent<'r> {
    let Refusal { call, reason } = refusal;
    let sent_id = call.call_id.strip_prefix(APP_EVENT_ID_PREFIX).filter(|_| call.is_public);
    RejectedEvent {
        name: Some(call.kind.as_str()),
        user_id: Some(call.user_id),
        event_id: Some(sent_id.unwrap_or(call.call_id)),
        reason: reason.into(),
        body: &[],
    }
}
