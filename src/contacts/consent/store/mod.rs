//! All SQL of consent.
//!
//! Rows are locked in one order: contacts by id, then their consent, then ledger rows. Whoever writes a
//! contact's consent holds the contact's row first, so no two writes of one contact interleave, and no
//! address changes in between.

pub(super) mod channels;
pub(super) mod contacts;
pub(super) mod history;
pub(super) mod memberships;
pub(super) mod pending;
pub(super) mod pending_channels;
