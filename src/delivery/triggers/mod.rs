//! Triggers: what comes in makes messages of the campaigns that wait for it.
//!
//! ```text
//! spool ─▶ feed (a consumer of its own, a thread of its own) ─▶ catalogue (who waits for which event)
//!       ─▶ entering (profile, audience, re-entry) ─▶ campaign_entry and message, in one transaction ─▶ cursor
//! ```
//!
//! # What holds
//!
//! 1. An event makes at most one message of a campaign: its entry is unique, and kept with the message.
//! 2. None is forgotten: the cursor moves past an event only when all it enters is kept. What is read again
//!    after a crash finds its entries there.
//! 3. Events that come in after a campaign's launch was answered find it, however soon: who waits is looked
//!    up after the events were taken from the spool, not before.
//! 4. Every process that takes events in judges them, whatever its roles; sending is anybody's work.
//! 5. A PostgreSQL that is slow or away is waited for, within a budget of the spool (see `ops::feed`); the way into
//!    ClickHouse is another consumer's, and the spool keeps what either has yet to see.

mod model;
mod ops;
mod store;

pub use self::ops::{Triggers, TriggersError};
