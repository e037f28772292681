//! Failures of PostgreSQL and ClickHouse, by what can be done about them.

use std::fmt;

/// One of the two databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Profiles, consent, campaigns, messages.
    Postgres,
    /// Events and the reports on them.
    Clickhouse,
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "PostgreSQL",
            Self::Clickhouse => "ClickHouse",
        })
    }
}

/// A failure of a store. Other failures of statements are bugs, thus [`Error::Internal`](crate::Error::Internal).
#[derive(Debug)]
pub enum StoreFault {
    /// The store did not answer in time, or has no connection, memory or time to spare. Trying again later may help.
    Unavailable {
        /// The database that did not answer.
        store: Store,
        /// Its error; none where the store was not asked, because others wait for it already.
        cause: Option<anyhow::Error>,
    },
    /// A serialization failure or a deadlock. The same transaction, run again, may succeed.
    LostRace(anyhow::Error),
    /// A unique key was taken. Where it was free when the transaction looked, the transaction may be run again.
    Duplicate(anyhow::Error),
}

impl fmt::Display for StoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { store, cause: None } => write!(f, "{store} is unavailable"),
            Self::Unavailable { store, cause: Some(cause) } => {
                write!(f, "{store} is unavailable: {cause:#}")
            }
            Self::LostRace(cause) => write!(f, "a transaction lost a race: {cause:#}"),
            Self::Duplicate(cause) => write!(f, "a unique key was taken: {cause:#}"),
        }
    }
}

impl StoreFault {
    /// The error of the store.
    pub fn cause(&self) -> Option<&anyhow::Error> {
        match self {
            Self::Unavailable { cause, .. } => cause.as_ref(),
            Self::LostRace(cause) | Self::Duplicate(cause) => Some(cause),
        }
    }
}
