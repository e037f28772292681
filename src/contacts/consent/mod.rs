//! `/subscriptions/contacts/*`: consent of contacts by channel and by list.
//!
//! A change, its history entry and its mirror in the suppression ledgers are one transaction. Writes of one
//! contact are serialised by a lock of the contact's row.

pub mod api;
pub mod model;
pub mod ops;
mod store;
