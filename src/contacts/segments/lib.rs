//! `/segments/*`: targetings saved under a name.
//!
//! ```text
//! api ─▶ ops ─▶ store (rows, uses) ─▶ model (bodies, limits of segments that use each other)
//!         └▶ contacts::audience: who is in a segment, whenever it is asked
//! ```

pub mod api;
pub mod model;
pub mod ops;
mod store;
