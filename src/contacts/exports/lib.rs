//! `/events/export` and `/users/export`: every event or profile of a workspace once, as a table that is sent in pieces.
//!
//! ```text
//! api (query string, format, a body that breaks off on a failure) ─▶ ops (rows into pieces) ─▶ model (columns, cursors)
//!                                                                       ├▶ analytics: events in order of time
//!                                                                       └▶ contacts: profiles in order of their ids
//! ```

pub mod api;
pub mod model;
pub mod ops;
