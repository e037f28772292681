//! Consent by channel and by list, its history, and the suppressions it adds.

mod bulk;
mod channels;
mod contact;
pub(crate) mod fixture;
mod history;
mod isolation;
mod lists;
mod races;
mod sequences;
