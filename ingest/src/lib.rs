//! From the bytes of a request to rows in ClickHouse: the write path.
//!
//! ```text
//! parse ─▶ admit ─▶ record ─▶ spool ─▶ pipeline ─▶ columns ─▶ ClickHouse
//! ```
//!
//! Suggested reading order: [`model`] (limits and what an event is), [`parse`] (bytes to a tape),
//! [`admit`] (verdicts and durable records), [`window`] (retries without a timestamp), [`record`]
//! (the durable form), [`spool`] (the segmented log that makes them durable), [`pipeline`] (consumers of the
//! spool, and the ClickHouse writer), [`columns`] (rows as `Native` blocks). Beside it stand [`rejected`] (events that
//! were refused) and [`live`] (events as they arrive, for listeners).
//!
//! Knows no axum and no sqlx. Never reads a clock: callers pass the time.

#![warn(missing_docs)]

pub mod admit;
pub mod columns;
pub mod intake;
pub mod live;
pub mod model;
pub mod parse;
pub mod pipeline;
pub mod profile_limit;
pub mod profile_progress;
pub mod record;
pub mod rejected;
pub mod spool;
pub mod window;
