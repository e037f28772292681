//! Recording events: the server's side of the write path.

use ingest::{
    admit::{Sender, calls::CallRules},
    intake::{Answer, CallOrigin, TrackError},
    profile_limit::{NoRoom, ProfileLimit},
    rejected::EventSource,
};
use kernel::{Error, KeyId, Result, Severity, UserId, WorkspaceId};
use serde::Serialize;
use serde_json::value::RawValue;
use web::{
    Services,
    http::{JsonBytes, RawBytes},
    spool,
};

/// The key that a request came with, and its workspace.
#[derive(Debug, Clone, Copy)]
pub struct TrackKey {
    pub workspace: WorkspaceId,
    pub id: KeyId,
}

impl TrackKey {
    fn source(&self, sender: Sender<'_>) -> EventSource<'_> {
        EventSource {
            workspace_id: self.workspace.uuid(),
            key_id: self.id.as_str(),
            is_public: sender.is_public(),
        }
    }
}

/// Records the event or events of a request's body; returns once they are durable.
///
/// # Errors
/// 400 for a body that is not an event or an array of events, and for a single event that breaks a rule; 503
/// when the spool has no room: then nothing of the request is recorded.
pub async fn track<const MAX_BYTES: usize>(
    app: &Services,
    sender: Sender<'_>,
    key: TrackKey,
    body: JsonBytes<MAX_BYTES>,
) -> Result<Answer> {
    let JsonBytes { bytes, held } = body;
    let received_at_ms = app.clock().now().millis();
    let answer = app.intake().track_from(sender, key.source(sender), bytes, received_at_ms).await;
    // The memory stays accounted for until the write path has released the body.
    drop(held);
    answer.map_err(refusal)
}

/// How the calls of a request are read, and what limits them.
#[derive(Debug, Clone, Copy)]
pub struct CallTerms<'t> {
    pub rules: CallRules,
    /// The limit of what they change about profiles; none of a server's.
    pub limit: Option<&'t dyn ProfileLimit>,
}

/// Records the calls of a request of an event SDK; returns once all that is valid is durable. Faulty ones are counted
/// and reported, and are no error.
///
/// # Errors
/// 400 for a body without a call or a batch of calls, and for more changes of profiles than the limit ever allows; 429 where
/// it has no room for them now; 503 when the spool has no room.
pub async fn track_calls<const MAX_BYTES: usize>(
    app: &Services,
    sender: Sender<'_>,
    key: TrackKey,
    terms: CallTerms<'_>,
    body: RawBytes<MAX_BYTES>,
) -> Result<()> {
    let RawBytes { bytes, held } = body;
    let CallTerms { rules, limit } = terms;
    let received_at_ms = app.clock().now().millis();
    let origin = CallOrigin { sender, source: key.source(sender), rules, limit };
    let answer = app.intake().track_calls(origin, bytes, received_at_ms).await;
    drop(held);
    answer.map(drop).map_err(refusal)
}

/// An event sent together with its user, with its fields as they were sent. It serialises to the body that
/// `POST /events/track` takes.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InlineEvent<'e> {
    /// The user's internal id.
    #[serde(rename = "serviceUserId")]
    pub user: UserId,
    /// The external id of the user.
    #[serde(rename = "userId", skip_serializing_if = "Option::is_none")]
    pub external_id: Option<&'e str>,
    #[serde(rename = "eventName", skip_serializing_if = "Option::is_none")]
    pub name: Option<&'e RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<&'e RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<&'e RawValue>,
}

/// Records events of users through the same path as `POST /events/track`, all of them durable at once. Returns
/// the reason of rejection for each rejected event. When nothing can be recorded, every event gets that reason.
pub async fn track_inline(
    app: &Services,
    key: TrackKey,
    events: &[InlineEvent<'_>],
) -> Vec<Option<String>> {
    let mut reasons = vec![None; events.len()];
    let answer = match serde_json::to_vec(events) {
        Ok(body) => {
            let received_at_ms = app.clock().now().millis();
            app.intake()
                .track(key.source(Sender::Server), body, received_at_ms)
                .await
                .map_err(refusal)
        }
        Err(fault) => Err(Error::internal(fault)),
    };
    match answer {
        Ok(Answer::Many { rejected, .. }) => {
            for one in rejected {
                reasons[one.index] = Some(one.errors.join("; "));
            }
        }
        Ok(Answer::One { .. }) => {}
        Err(error) => {
            let reason = if error.severity() == Severity::Fault {
                tracing::error!(%error, "inline events could not be recorded");
                "event could not be stored".to_owned()
            } else {
                error.message()
            };
            reasons.fill(Some(reason));
        }
    }
    reasons
}

fn refusal(error: TrackError) -> Error {
    match error {
        TrackError::Body(error) => Error::bad_request(error.to_string()),
        TrackError::Invalid(mut errors) if errors.len() == 1 => {
            Error::bad_request(errors.remove(0))
        }
        TrackError::Invalid(errors) => {
            Error::BadRequest { message: "Bad Request".to_owned(), errors }
        }
        TrackError::NoRoom(NoRoom::Now(retry_after)) => Error::Throttled { retry_after },
        TrackError::NoRoom(NoRoom::Ever(reason)) => Error::bad_request(reason),
        error @ (TrackError::Saturated(_) | TrackError::Storage(_)) => spool::append_failed(error),
    }
}
