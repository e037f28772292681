//! Whom a campaign means, and whom of them it may reach.
//!
//! ```text
//! Targeting ─▶ model (what may be asked) ─▶ ops: event and engagement filters become sets of ids, by ClickHouse
//!                                        └▶ store: one statement over profiles, consent and suppressions
//! ```
//!
//! What is previewed, what a launch announces and what a launch takes is one and the same statement.

pub mod model;
pub mod ops;
mod store;
