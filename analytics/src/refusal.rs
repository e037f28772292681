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
            | AnalyticsError::TooLongHistories { .. }
            | AnalyticsError::Question(_) => Self::bad_request(error.to_string()),
            _ => Self::Internal(anyhow::Error::new(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_all_statements_use_up_is_an_outage_and_that_of_one_a_fault_of_its_question() {
        let of = |text: &str| {
            let refused = clickhouse::error::Error::BadResponse(text.to_owned());
            Error::from(AnalyticsError::from(refused))
        };
        let all = of("Code: 241. DB::Exception: (total) memory limit exceeded: would use 2 GiB");
        let unavailable = matches!(
            &all,
            Error::Store(StoreFault::Unavailable { store: Store::Clickhouse, cause: Some(_) })
        );
        assert!(unavailable, "{all:?}");
        let one = of("Code: 241. DB::Exception: Query memory limit exceeded: would use 2 GiB");
        assert!(matches!(&one, Error::BadRequest { .. }), "{one:?}");
    }
}
