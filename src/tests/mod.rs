//! Drives the real server over HTTP, on the real embedded PostgreSQL and ClickHouse.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod kit;

mod analytics;
mod auth;
mod clickhouse;
mod contract;
mod durability;
mod engines;
mod events;
mod operability;
mod tidy;
mod users;
