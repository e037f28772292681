//! What changes a ledger: callers by hand, opt-outs and opt-ins, bounces.

pub mod deliverability;
pub mod mirror;
