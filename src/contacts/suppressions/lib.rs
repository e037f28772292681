//! `/suppressions/*`: addresses and numbers that get no message, on every contact that has them.
//!
//! A ledger's key is the identifier, so a row applies to every contact that shares it. The reason of a row and
//! its source are independent. A new opt-in deletes rows with consent reasons; only an operator deletes rows
//! with deliverability reasons.

pub mod api;
pub mod model;
pub mod ops;
mod store;
