//! `/subscriptions/contacts/*`: what contacts agreed to, channel by channel and list by list.
//!
//! A change, its entry in the history and its mirror in the suppression ledgers are one transaction.
//! Writes of one contact wait for each other on the contact's own row.

pub mod api;
pub mod model;
pub mod ops;
mod store;
