//! How a fault of ClickHouse reads as an error: what is away is "come back", a question that asks too much is the
//! caller's, the rest is ours.

use kernel::Error;

use super::AnalyticsError;

impl From<AnalyticsError> for Error {
    fn from(fault: AnalyticsError) -> Self {
        metrics_catalogue::CLICKHOUSE_ERRORS.with([fault.kind()]).increment(1);
        match fault {
            AnalyticsError::Unavailable(_) | AnalyticsError::Late | AnalyticsError::Busy => {
                tracing::warn!(error = %fault, "clickhouse is unavailable");
                Self::analytics_unavailable()
            }
            AnalyticsError::Timeout(_)
            | AnalyticsError::TooMuch(_)
            | AnalyticsError::Question(_) => {
                tracing::warn!(error = %fault, "a question asks too much");
                Self::bad_request(fault.to_string())
            }
            _ => Self::Internal(anyhow::Error::new(fault)),
        }
    }
}
