//! Drives the real server over HTTP, on the real embedded PostgreSQL and ClickHouse.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::string_slice,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::needless_pass_by_value,
    reason = "of values a test has written itself"
)]

mod kit;

mod analytics;
mod audience;
mod auth;
mod backup;
mod callbacks;
mod campaigns;
mod clickhouse;
mod consent;
mod console;
mod contract;
mod delivery;
mod doctor;
mod durability;
mod engines;
mod events;
mod export;
mod hosted_page;
mod hostile;
mod identity;
mod insights;
mod lists;
mod operability;
mod operations;
mod outages;
mod people_mirror;
mod privacy;
mod retention;
mod sdk;
mod segments;
mod sender_domains;
mod sending;
mod single;
mod sql_listener;
mod stats;
mod suppressions;
mod traces;
mod triggers;
mod unique_events;
mod upgrade;
mod users;
