//! Changes of profiles that event SDKs send: identify, group, alias and what PostHog calls `$set`.
//!
//! ```text
//! spool ─▶ consumer (its own cursor and thread) ─▶ plan (calls of one person merged, in order)
//!       ─▶ upserts with the calls' keys, in one transaction ─▶ links and aliases ─▶ cursor
//! ```
//!
//! # Guarantees
//!
//! 1. A call is applied once: its key is stored in the transaction that changes the profile. Calls that are read again
//!    after a crash, or sent again within a week, find their keys.
//! 2. No call is lost: the cursor passes it when it is applied, or refused by a rule, counted and listed.
//! 3. Calls of one person are applied in the order in which they came in.
//! 4. Callers are answered when a call is durable, whatever PostgreSQL does. Calls wait in the spool meanwhile.
//! 5. Of each workspace few calls are applied before those of others, whatever it sends (`model/deferral.rs`).

pub mod model;
mod ops;

pub use self::ops::{ProfileCalls, ProfileCallsError};
