//! Queries on the real ClickHouse, a database per test.

mod anonymous;
mod exact;
mod exports;
mod fixture;
mod given_up;
mod linked;
mod lists;
mod messages;
mod orders;
mod rekey;
mod repeats;
mod schema;
mod sums;
mod uniqueness;
