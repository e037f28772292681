//! The connection to ClickHouse's HTTP interface, and the limits that every read carries.

use std::fmt;

use clickhouse::{Client, Compression};

use crate::{Analytics, error::AnalyticsError, reads::Read, uniqueness};

/// Most rows one read may look at, in rows.
pub const READ_ROWS_MAX: u64 = 2_000_000_000;
/// Most rows one read may return, in rows: a page and its slack, or the buckets of an aggregate.
pub const RESULT_ROWS_MAX: u64 = 1_000_000;
/// Most parts that are read in the order of the key without merging some of them first.
const PARTS_READ_IN_ORDER_MAX: u32 = 1_000_000;
/// Most memory one read may hold in ClickHouse, in bytes.
pub const READ_MEMORY_MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Where ClickHouse answers, and as whom we ask.
#[derive(Clone)]
pub struct ClickHouseAddress {
    /// `http://host:port` of the HTTP interface.
    pub url: String,
    /// User name; empty for the server's default.
    pub user: String,
    /// Password or secret; never printed.
    pub password: String,
    /// The database that holds our tables; made by [`crate::Analytics::migrate`] when missing.
    pub database: String,
    /// Name of a cluster in `system.clusters`: tables are made on all of its replicas with
    /// `Replicated…` engines. `None` is one server.
    pub cluster: Option<String>,
}

impl fmt::Debug for ClickHouseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClickHouseAddress")
            .field("url", &self.url)
            .field("user", &self.user)
            .field("database", &self.database)
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

/// A client of the address, without a database when `in_database` is false (to create it).
pub(crate) fn client(address: &ClickHouseAddress, in_database: bool) -> Client {
    let mut client = Client::default().with_url(address.url.clone()).with_validation(true);
    if is_on_this_machine(&address.url) {
        // Between two processes of one machine, packing costs more than it saves.
        client = client.with_compression(Compression::None);
    }
    if !address.user.is_empty() {
        client = client.with_user(address.user.clone());
    }
    if !address.password.is_empty() {
        client = client.with_password(address.password.clone());
    }
    if in_database {
        client = client.with_database(address.database.clone());
    }
    client
}

/// Whether the address is a loopback one.
fn is_on_this_machine(url: &str) -> bool {
    let authority = url.split("://").nth(1).unwrap_or_default();
    let host = authority.split('/').next().unwrap_or_default();
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
        host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    })
}

/// A question with its limits. Text comes from a file of `sql/` and from closed enums only;
/// whatever a caller said goes in as a server-side parameter.
pub(crate) fn read(analytics: &Analytics, sql: &str) -> Read {
    read_by(&analytics.client, analytics, sql)
}

/// The same without a database.
pub(crate) fn read_outside(analytics: &Analytics, sql: &str) -> Read {
    read_by(&analytics.outside, analytics, sql)
}

fn read_by(client: &Client, analytics: &Analytics, sql: &str) -> Read {
    // `final = 1` is not used: FINAL stands in the statements, where a reader sees it. It is left out where no row
    // repeats another.
    let plain = analytics.uniqueness.is_proven().then(|| uniqueness::plain(sql));
    let sql = plain.as_deref().unwrap_or(sql);
    let read = Read::new(client.query_raw(sql), analytics.reads.clone(), analytics.outside.clone());
    let read = match analytics.reads.limits().nice {
        Some(nice) => read.with_setting("os_threads_nice_value_query", nice.to_string()),
        None => read,
    };
    read.with_setting(
        "max_execution_time",
        analytics.reads.limits().execution_seconds().to_string(),
    )
    .with_setting("timeout_overflow_mode", "throw")
    .with_setting("max_rows_to_read", READ_ROWS_MAX.to_string())
    .with_setting("read_overflow_mode", "throw")
    .with_setting("max_result_rows", RESULT_ROWS_MAX.to_string())
    .with_setting("result_overflow_mode", "throw")
    .with_setting("max_memory_usage", READ_MEMORY_MAX_BYTES.to_string())
    // Partitions are a function of the key, so no two rows of one key lie in two of them.
    .with_setting("do_not_merge_across_partitions_select_final", "1")
    // In the order of the key, whatever the number of parts: beyond the default of 100 parts the
    // newest entries of the timeline would be looked for in all of them (measured: README).
    .with_setting("read_in_order_two_level_merge_threshold", PARTS_READ_IN_ORDER_MAX.to_string())
}

/// Refuses a name that cannot stand unquoted in a statement: database and cluster come from
/// settings and become part of DDL, where ClickHouse takes no parameters.
pub(crate) fn checked_name<'a>(what: &str, name: &'a str) -> Result<&'a str, AnalyticsError> {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let rest = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if starts && rest {
        Ok(name)
    } else {
        Err(AnalyticsError::Address(format!("{what} {name:?} must be letters, digits, - and _")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_printed() {
        let address = ClickHouseAddress {
            url: "http://127.0.0.1:8123".to_owned(),
            user: "millrace".to_owned(),
            password: "hunter2".to_owned(),
            database: "millrace".to_owned(),
            cluster: None,
        };
        assert!(!format!("{address:?}").contains("hunter2"));
    }

    #[test]
    fn only_loopback_addresses_are_on_this_machine() {
        for url in ["http://127.0.0.1:8123", "http://localhost/x", "http://[::1]:1"] {
            assert!(is_on_this_machine(url), "{url}");
        }
        for url in
            ["http://clickhouse:8123", "http://127.0.0.1.example.test", "http://10.0.0.1", ""]
        {
            assert!(!is_on_this_machine(url), "{url}");
        }
    }

    #[test]
    fn names_that_would_need_quoting_are_refused() {
        for name in ["", "1st", "a b", "a`b", "a'b", "a;drop", "日本"] {
            assert!(checked_name("database", name).is_err(), "{name}");
        }
        for name in ["millrace", "_x", "test-1", "T2"] {
            assert_eq!(checked_name("database", name).ok(), Some(name));
        }
    }
}
