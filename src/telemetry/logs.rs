//! Structured logs on stderr: one line an event, no secrets, no personal data, no bodies.

use std::io::IsTerminal as _;

use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// What is logged where nothing is asked for: this program's own lines, and others' warnings.
const DEFAULT_FILTER: &str =
    "warn,millrace=info,ingest=info,analytics=info,clickhouse_embedded=info";

/// Starts logging for this process: readable on a terminal, JSON lines elsewhere.
///
/// `RUST_LOG` sets the levels as usual. A second call in one process changes nothing, so that tests
/// may start several servers.
pub fn start() {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let registry = tracing_subscriber::registry().with(filter);
    let already_started = if std::io::stderr().is_terminal() {
        registry.with(fmt::layer().with_writer(std::io::stderr)).try_init().is_err()
    } else {
        registry.with(fmt::layer().json().with_writer(std::io::stderr)).try_init().is_err()
    };
    if already_started {
        tracing::debug!("logging was started before");
    }
}
