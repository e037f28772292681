//! `/privacy/requests`: erases and exports what is stored of a person.
//!
//! ```text
//! api ─▶ ops: requests ─▶ store ◀─ worker (one process at a time): export, erasure step by step
//!                                  files (each process): spool, dead letters, list of erasures
//! ```
//!
//! The steps of an erasure, and what each relies on, are in [`model::Step`].

pub mod api;
pub mod erasures_file;
pub mod model;
pub mod ops;
mod state;
mod store;

pub use self::state::{PrivacyParts, PrivacyState};
