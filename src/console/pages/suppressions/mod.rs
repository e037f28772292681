//! `/console/suppressions`: addresses and numbers that get no message.

mod add;
mod history;
mod import;
mod ledger;
mod lines;
mod parts;

use axum::{
    Router,
    routing::{get, post},
};
use web::auth::ScopeName;

use crate::{failure::Failure, state::ConsoleState, view::Entry, visitor::Visitor};

pub(super) const ENTRY: Entry = Entry {
    name: "Suppressions",
    path: "/console/suppressions",
    scopes: &[ScopeName::EmailSuppressionRead, ScopeName::SmsSuppressionRead],
};
/// The address that takes rows out of a ledger.
const REMOVE: &str = "/console/suppressions/remove";
/// The page that imports rows.
const IMPORT: &str = "/console/suppressions/import";
/// The channels that have a ledger.
const CHANNELS: [&str; 3] = ["email", "sms", "whatsapp"];

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route(ENTRY.path, get(ledger::show).post(ledger::create))
        .route(REMOVE, post(ledger::remove))
        .route(IMPORT, get(import::show).post(import::import))
}

/// The scope to read a channel's ledger.
fn to_read(channel: &str) -> ScopeName {
    match channel {
        "email" => ScopeName::EmailSuppressionRead,
        _ => ScopeName::SmsSuppressionRead,
    }
}

/// The scope to change a channel's ledger.
fn to_write(channel: &str) -> ScopeName {
    match channel {
        "email" => ScopeName::EmailSuppressionWrite,
        _ => ScopeName::SmsSuppressionWrite,
    }
}

/// The channels whose ledgers a visitor may change.
fn writable(visitor: &Visitor) -> Vec<&'static str> {
    CHANNELS.into_iter().filter(|channel| visitor.may(to_write(channel))).collect()
}

/// The channel of an address; by default the first that the visitor may read.
///
/// # Errors
/// Not found for a channel without a ledger.
fn channel_of(visitor: &Visitor, asked: &str) -> Result<&'static str, Failure> {
    let found = match asked {
        "" => CHANNELS.into_iter().find(|channel| visitor.may(to_read(channel))),
        asked => CHANNELS.into_iter().find(|channel| *channel == asked),
    };
    found.ok_or_else(Failure::not_found)
}

/// The address of a channel's ledger.
fn ledger_path(channel: &str) -> String {
    format!("{}?channel={channel}", ENTRY.path)
}
