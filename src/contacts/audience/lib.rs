//! Audiences: the profiles that a targeting matches, and which of them can be reached.
//!
//! ```text
//! Targeting ─▶ model (what may be asked) ─▶ ops: event and engagement filters become sets of ids, by ClickHouse
//!                                        └▶ store: one statement over profiles, consent and suppressions
//! ```
//!
//! Previews, launches and sends use the same statement.

pub mod model;
pub mod ops;
mod state;
mod store;

pub use self::state::AudienceState;
