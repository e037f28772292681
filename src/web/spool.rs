//! Failures of appends to the spool as errors of the API.

use std::time::Duration;

use ingest::intake::TrackError;
use kernel::Error;

/// When to come back while the spool has no room.
const SATURATED_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The error of an append: 503 while the spool has no room, else a fault.
pub fn append_failed(error: TrackError) -> Error {
    match error {
        TrackError::Saturated(error) => {
            tracing::warn!(%error, "the spool has no room");
            Error::Unavailable {
                what: "Ingest is temporarily saturated",
                retry_after: Some(SATURATED_RETRY_AFTER),
            }
        }
        error => Error::Internal(error.into()),
    }
}
