//! Triggers: incoming events create messages of triggered campaigns.
//!
//! ```text
//! spool ─▶ consumer (its own cursor and thread) ─▶ catalogue (live triggers by event name)
//!       ─▶ entries (profile, re-entry, audience) ─▶ campaign_entry and message, in one transaction ─▶ cursor
//! ```
//!
//! # Guarantees
//!
//! 1. An event creates at most one message of a campaign: its entry is unique, and stored with the message.
//! 2. No event is lost: the cursor moves past an event only when its entries are stored. Events that are read again
//!    after a crash find their entries.
//! 3. An event that is received after the answer to a launch finds the campaign: live triggers are looked up after
//!    the events are taken from the spool, not before.
//! 4. Every process that ingests events matches them, whatever its roles; any process with the role `delivery` sends.
//! 5. While PostgreSQL is slow or unavailable, events wait within a budget of the spool (see `ops::consumer`).
//!    ClickHouse is written by another consumer; the spool keeps what either has not processed yet.

mod model;
mod ops;
mod store;

pub use self::ops::{Triggers, TriggersError};
