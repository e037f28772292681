//! The listener for callers who ask in SQL.

use std::net::SocketAddr;

use serde::{Deserialize, Deserializer, de};

/// The word that turns the listener off.
const OFF: &str = "off";
/// Most seconds that a statement may be allowed.
const SECONDS_MAX: u64 = 3_600;

/// Where the listener is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlListen {
    Off,
    At(SocketAddr),
}

impl<'de> Deserialize<'de> for SqlListen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.eq_ignore_ascii_case(OFF) {
            return Ok(Self::Off);
        }
        text.parse().map(Self::At).map_err(|_| {
            de::Error::custom(format!(
                "sql_listen must be an address such as 127.0.0.1:8124, or \"{OFF}\""
            ))
        })
    }
}

/// Limits of statements in SQL.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sql {
    /// Seconds that a statement may run.
    pub seconds: u64,
    /// Seconds that a client may take nothing of its answer, and all of it may take longer than the statement.
    pub answer_seconds: u64,
    /// Memory that a statement may hold in ClickHouse.
    pub memory_bytes: u64,
    /// Memory that all statements together may hold; beyond it the largest is stopped.
    pub memory_total_bytes: u64,
    /// Rows of one answer.
    pub result_rows: u64,
    /// Threads of one statement.
    pub threads: u64,
    /// Statements of one key at one time.
    pub queries_per_key: usize,
    /// Statements of one key that may wait.
    pub waiting_per_key: usize,
    /// Seconds that a statement may wait.
    pub wait_seconds: u64,
    /// Statements at one time.
    pub queries: usize,
    /// Most connections at one time.
    pub connections_max: usize,
}

impl Sql {
    /// A limit that cannot be: its key and the reason.
    pub(super) fn fault(&self) -> Option<(&'static str, &'static str)> {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let positive = [
            ("sql.seconds", self.seconds),
            ("sql.answer_seconds", self.answer_seconds),
            ("sql.memory_bytes", self.memory_bytes),
            ("sql.result_rows", self.result_rows),
            ("sql.threads", self.threads),
            ("sql.queries_per_key", count(self.queries_per_key)),
            ("sql.queries", count(self.queries)),
            ("sql.connections_max", count(self.connections_max)),
        ];
        if let Some((key, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Some((key, "must be at least 1"));
        }
        if self.memory_total_bytes < self.memory_bytes {
            return Some(("sql.memory_total_bytes", "must be at least `sql.memory_bytes`"));
        }
        (self.seconds > SECONDS_MAX).then_some(("sql.seconds", "must be at most 3600"))
    }
}
