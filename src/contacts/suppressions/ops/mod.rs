//! What changes a ledger: callers by hand, opt-outs and opt-ins, bounces.

pub mod census;
pub mod deliverability;
pub mod entries;
pub mod mirror;
