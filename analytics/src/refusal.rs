//! Errors of ClickHouse as [`Error`]s: what is unavailable, what asks for too much, and what is a bug.

use std::time::Duration;

use kernel::{
    Error,
    store::{Store, StoreFault},
};

use super::AnalyticsError;

/// `Retry-After` of an export beyond the limit of concurrent exports.
const EXPORT_RETRY_AFTER: Duration = Duration::from_secs(10);

impl From<AnalyticsError> for Error {
    fn from(error: AnalyticsError) -> Self {
        match error {
            AnalyticsError::Unavailable(_)
            | AnalyticsError::OutOfMemory(_)
            | AnalyticsError::Late
            | AnalyticsError::Busy => {
                let cause = Some(anyhow::Error::new(error));
                Self::Store(StoreFault::Unavailable { store: Store::Clickhouse, cause })
            }
            AnalyticsError::TooManyExports(what) => {
                Self::TooMany { what, retry_after: EXPORT_RETRY_AFTER }
            }
            AnalyticsError::Timeout(_)
            | AnalyticsError::TooMuch(_)
            | AnalyticsError::Question(_) => Self::bad_request(error.to_string()),
            _ => Self::Internal(anyhow::Error::new(error)),
        }
    }
}
