//! Copies of profiles and campaigns in ClickHouse, at most a second behind PostgreSQL.

mod model;
pub mod ops;
mod store;
