//! Changes of the ledgers by callers, by opt-outs and opt-ins, and by bounces.

pub mod census;
pub mod deliverability;
pub mod entries;
pub mod mirror;
pub mod numbers;
