//! Load, oracle and report for Millrace, over HTTP only: what a caller would see, measured as a caller would.
//!
//! The binary is the usual way in (`cargo run --release -p loadtest -- --help`). The library part is for the
//! server's own tests: an [`source::EventSource`] to send, a [`journal::Journal`] of what was acknowledged, and an
//! [`oracle::Oracle`] that says whether exactly that is stored.

pub mod api;
pub mod clickhouse;
pub mod clock;
pub mod commands;
pub mod http;
pub mod journal;
pub mod load;
pub mod oracle;
pub mod probe;
pub mod progress;
pub mod report;
#[cfg(test)]
mod responder;
pub mod scrape;
pub mod sink;
pub mod source;
pub mod target;
