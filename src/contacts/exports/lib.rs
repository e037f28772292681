//! `/events/export`: every event of a workspace once, as a table that is sent in pieces.
//!
//! ```text
//! api (query string, format, a body that breaks off on a failure) ─▶ ops (rows into pieces) ─▶ model (columns, cursors)
//!                                                                       └▶ analytics: events in order of time
//! ```

pub mod api;
pub mod model;
pub mod ops;
