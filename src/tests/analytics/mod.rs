//! Asks the real ClickHouse, each test in a database of its own.

mod exact;
mod fixture;
mod lists;
mod messages;
mod orders;
mod rekey;
mod repeats;
mod schema;
mod sums;
