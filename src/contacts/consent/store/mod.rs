//! All SQL of consent.
//!
//! Rows are locked in one order: contacts by id, then their consent, then ledger rows. A write of a contact's
//! consent locks the contact's row first, so writes of one contact do not interleave and its addresses do not
//! change in between.

pub(super) mod channels;
pub(super) mod contacts;
pub(super) mod history;
pub(super) mod memberships;
pub(super) mod merge;
pub(super) mod pending;
pub(super) mod pending_channels;
