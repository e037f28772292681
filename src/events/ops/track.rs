//! Recording events: the server's side of the write path.

use std::time::Duration;

use ingest::intake::{Answer, TrackError};

use crate::{
    app::App,
    http::JsonBytes,
    kernel::{Error, Result, WorkspaceId},
};

/// When to come back while the write path has no room.
const SATURATED_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Records the event or events of a request's body; returns once they are durable.
///
/// # Errors
/// 400 for a body that is no event or array of events, or a single event that breaks a rule; 503 when
/// the write path has no room, with nothing of the request recorded.
pub async fn track<const MAX_BYTES: usize>(
    app: &App,
    workspace: WorkspaceId,
    body: JsonBytes<MAX_BYTES>,
) -> Result<Answer> {
    let JsonBytes { bytes, held } = body;
    let received_at_ms = app.clock().now().millis();
    let answer = app.intake().track(workspace.uuid(), bytes, received_at_ms).await;
    // The memory is accounted for until the write path has let go of the body.
    drop(held);
    answer.map_err(refusal)
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
        TrackError::Saturated(error) => {
            tracing::warn!(%error, "the write path has no room");
            Error::Unavailable {
                what: "Ingest is temporarily saturated",
                retry_after: Some(SATURATED_RETRY_AFTER),
            }
        }
        error @ TrackError::Storage(_) => Error::Internal(error.into()),
    }
}
