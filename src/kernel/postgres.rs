//! How a fault of PostgreSQL reads as an error: what is away is "come back", the rest is ours.

use crate::{Error, outage};

/// What a SQLSTATE says about the server, where it does not say that the statement was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// The connection leads nowhere useful any more: class 08 (connection), 57P01 to 57P05 (shut down, starting up,
    /// dropped), 25006 (the server became read-only, as after a failover). Connections made before are closed.
    Gone,
    /// No room or no time at the moment: class 53 (connections, memory or locks used up, disk full), 57014 (over
    /// `statement_timeout`), 55P03 (over `lock_timeout`).
    Busy,
}

fn trouble(state: &str) -> Option<Trouble> {
    match state {
        "25006" => Some(Trouble::Gone),
        "57014" | "55P03" => Some(Trouble::Busy),
        _ if state.starts_with("08") || state.starts_with("57P0") => Some(Trouble::Gone),
        _ if state.starts_with("53") => Some(Trouble::Busy),
        _ => None,
    }
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
                if answer.code().is_some_and(|state| trouble(&state).is_some()) =>
            {
                if answer.code().and_then(|state| trouble(&state)) == Some(Trouble::Gone) {
                    outage::note();
                }
                tracing::warn!(error = %fault, "postgres is unavailable");
                Self::store_unavailable()
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
        for state in ["08006", "08001", "57P01", "57P02", "57P03", "25006"] {
            assert_eq!(trouble(state), Some(Trouble::Gone), "{state}");
        }
        for state in ["53100", "53200", "53300", "57014", "55P03"] {
            assert_eq!(trouble(state), Some(Trouble::Busy), "{state}");
        }
        for state in ["23505", "42601", "25001", "40001"] {
            assert_eq!(trouble(state), None, "{state}");
        }
        assert!(matches!(Error::from(sqlx::Error::PoolTimedOut), Error::Unavailable { .. }));
        assert!(matches!(Error::from(sqlx::Error::RowNotFound), Error::Internal(_)));
    }
}
