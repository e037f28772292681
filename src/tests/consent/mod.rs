//! Consent by channel and by list, its history, and its mirror in the ledgers.

mod bulk;
mod channels;
mod contact;
pub(crate) mod fixture;
mod history;
mod lists;
mod races;
mod sequences;
mod walls;
