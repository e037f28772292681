//! How a fault of a store reads as an error: what is away is "come back", a question that asks too much
//! is the caller's, the rest is ours.

use analytics::AnalyticsError;

use crate::kernel::Error;

/// SQLSTATEs that say the server is going away or has no room, not that a statement was wrong:
/// classes 08 (connection) and 53 (connections, memory or locks used up, disk full), 57P01–57P03
/// (shut down, starting up).
fn is_outage(state: &str) -> bool {
    state.starts_with("08")
        || state.starts_with("53")
        || matches!(state, "57P01" | "57P02" | "57P03")
}

impl From<sqlx::Error> for Error {
    fn from(fault: sqlx::Error) -> Self {
        match &fault {
            sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Io(_)
            | sqlx::Error::Tls(_) => {
                tracing::warn!(error = %fault, "postgres is unavailable");
                Self::store_unavailable()
            }
            sqlx::Error::Database(answer)
                if answer.code().is_some_and(|state| is_outage(&state)) =>
            {
                tracing::warn!(error = %fault, "postgres is unavailable");
                Self::store_unavailable()
            }
            _ => Self::Internal(anyhow::Error::new(fault)),
        }
    }
}

impl From<AnalyticsError> for Error {
    fn from(fault: AnalyticsError) -> Self {
        metrics::counter!("clickhouse_errors_total", "kind" => fault.kind()).increment(1);
        match fault {
            AnalyticsError::Unavailable(_) => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_are_told_from_wrong_statements() {
        for state in ["08006", "08001", "53100", "53200", "53300", "57P01", "57P03"] {
            assert!(is_outage(state), "{state}");
        }
        for state in ["23505", "42601", "57014", "40001"] {
            assert!(!is_outage(state), "{state}");
        }
        assert!(matches!(Error::from(sqlx::Error::PoolTimedOut), Error::Unavailable { .. }));
        assert!(matches!(Error::from(sqlx::Error::RowNotFound), Error::Internal(_)));
    }
}
