//! `/insights/*`: trends, funnels and retention of people.
//!
//! ```text
//! api ─▶ ops (who is asked about, questions to ClickHouse) ─▶ model (bodies, ranges of time, the rules of each insight)
//!         └▶ store (saved questions)
//! ```

pub mod api;
pub mod model;
pub mod ops;
mod store;
