//! `/subscriptions/hosted-page/*` and the public pages behind links in messages: where recipients choose
//! what they get, unsubscribe with one click, and confirm a subscription.
//!
//! A `GET` changes nothing: programs follow links too. What a page changes is [`consent`]'s to write.
//!
//! [`consent`]: contacts::consent

pub mod api;
pub mod model;
pub mod ops;
mod page;
mod store;

pub use self::page::refusal;
