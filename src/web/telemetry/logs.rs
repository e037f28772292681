//! Structured logs on stderr: one line an event, no secrets, no personal data, no bodies.

use std::io::IsTerminal as _;

use traces::Statements;
use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// The crates of this program, whose log lines are written from level `info` on.
const CRATES: &[&str] = &[
    "analytics",
    "callbacks",
    "audience",
    "backup",
    "campaigns",
    "clickhouse_embedded",
    "config",
    "console",
    "console_campaigns",
    "console_core",
    "console_view",
    "contacts",
    "content",
    "delivery",
    "engines",
    "exports",
    "identity",
    "ingest",
    "insights",
    "landed_keys",
    "kernel",
    "members",
    "metrics_catalogue",
    "millrace",
    "people_mirror",
    "privacy",
    "providers",
    "recipient_pages",
    "retention",
    "sdk",
    "segments",
    "sender_domains",
    "sql_listener",
    "statistics",
    "stats",
    "supervisor",
    "suppressions",
    "tables",
    "traces",
    "web",
];

/// The filter without `RUST_LOG`: lines of this program, and warnings of libraries.
fn default_filter() -> EnvFilter {
    let mut directives = vec!["warn".to_owned()];
    directives.extend(CRATES.iter().map(|name| format!("{name}=info")));
    EnvFilter::new(directives.join(","))
}

/// Starts logging for this process: text on a terminal, JSON lines otherwise.
///
/// `RUST_LOG` sets the levels. A second call in one process changes nothing, so that tests can start several
/// servers.
pub fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| default_filter());
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = if std::io::stderr().is_terminal() {
        lines.with_filter(filter).boxed()
    } else {
        lines.json().with_filter(filter).boxed()
    };
    let registry = tracing_subscriber::registry().with(lines);
    let statements = Statements.with_filter(Statements);
    let already_started = registry.with(statements).try_init().is_err();
    if already_started {
        tracing::debug!("logging was started before");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_of_the_workspace_is_logged() {
        let manifest = include_str!("../../../Cargo.toml");
        let members = manifest.lines().find_map(|line| line.strip_prefix("members = ")).unwrap();
        let members: Vec<&str> = members.split('"').skip(1).step_by(2).collect();
        for member in &members {
            let name = match *member {
                "." => "millrace",
                "analytics/embedded" => "clickhouse_embedded",
                "src/console/campaigns" => "console_campaigns",
                "src/console/core" => "console_core",
                "src/console/view" => "console_view",
                // Separate programs, and a crate without code.
                "loadtest" | "src/tests/tidy" | "src/workspace_hack" => continue,
                path => path.rsplit('/').next().unwrap(),
            };
            assert!(CRATES.contains(&name), "{name}");
        }
        assert!(members.len() > CRATES.len(), "{members:?}");
    }
}
