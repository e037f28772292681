//! All SQL of suppressions.
//!
//! Rows are locked in one order: contacts by id, then ledger rows by workspace, channel and identifier.

pub(super) mod bounces;
pub(super) mod contacts;
pub(super) mod entries;
pub(super) mod history;
pub(super) mod mirror;
pub(super) mod numbers;
