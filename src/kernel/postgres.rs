//! Errors of PostgreSQL as [`Error`]s.

use crate::{
    Error, outage,
    store::{Store, StoreFault},
};

/// What an SQLSTATE means for the transaction that got it.
///
/// Source: Appendix A of PostgreSQL's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The connection is of no use any more: class 08 (connection), 57P01 to 57P05 (shut down, starting up,
    /// dropped), 25006 (the server became read-only, as after a failover). Connections made before are closed.
    Gone,
    /// No room or no time at the moment: class 53 (connections, memory or locks used up, disk full), 57014 (over
    /// `statement_timeout`), 55P03 (over `lock_timeout`).
    Busy,
    /// SQLSTATE 40001 (`serialization_failure`), 40P01 (`deadlock_detected`).
    LostRace,
    /// SQLSTATE 23505 (`unique_violation`): the row exists.
    Duplicate,
    /// The statement is wrong.
    Wrong,
}

fn meaning(state: &str) -> Meaning {
    match state {
        "25006" => Meaning::Gone,
        "57014" | "55P03" => Meaning::Busy,
        "40001" | "40P01" => Meaning::LostRace,
        "23505" => Meaning::Duplicate,
        _ if state.starts_with("08") || state.starts_with("57P0") => Meaning::Gone,
        _ if state.starts_with("53") => Meaning::Busy,
        _ => Meaning::Wrong,
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        let meaning = match &error {
            sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Io(_)
            | sqlx::Error::Tls(_) => Meaning::Busy,
            sqlx::Error::Database(answer) => {
                answer.code().map_or(Meaning::Wrong, |state| meaning(&state))
            }
            _ => Meaning::Wrong,
        };
        if meaning == Meaning::Gone {
            outage::note();
        }
        let cause = anyhow::Error::new(error);
        match meaning {
            Meaning::Gone | Meaning::Busy => {
                Self::Store(StoreFault::Unavailable { store: Store::Postgres, cause: Some(cause) })
            }
            Meaning::LostRace => Self::Store(StoreFault::LostRace(cause)),
            Meaning::Duplicate => Self::Store(StoreFault::Duplicate(cause)),
            Meaning::Wrong => Self::Internal(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sqlstate_has_its_meaning() {
        for (expected, states) in [
            (Meaning::Gone, &["08006", "08001", "57P01", "57P02", "57P03", "25006"][..]),
            (Meaning::Busy, &["53100", "53200", "53300", "57014", "55P03"]),
            (Meaning::LostRace, &["40001", "40P01"]),
            (Meaning::Duplicate, &["23505"]),
            (Meaning::Wrong, &["42601", "25001", "23503"]),
        ] {
            for state in states {
                assert_eq!(meaning(state), expected, "{state}");
            }
        }
    }

    #[test]
    fn a_pool_without_connections_is_an_outage_and_a_missing_row_is_a_bug() {
        assert!(Error::from(sqlx::Error::PoolTimedOut).is_unavailable());
        assert!(matches!(Error::from(sqlx::Error::RowNotFound), Error::Internal(_)));
    }
}
