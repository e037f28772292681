//! `/suppressions/*`: addresses and numbers that get no message, whoever has them.
//!
//! A ledger is keyed on the identifier, so it covers every contact that shares it. Why a row is there
//! (`reason`) and where it came from (`source`) are independent: consent reasons go with a fresh opt-in,
//! deliverability reasons only by an operator's hand.

pub mod api;
pub mod model;
pub mod ops;
mod store;
