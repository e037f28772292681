//! `/subscriptions/hosted-page/*` and the public pages behind links in messages: recipients choose what they
//! get, unsubscribe with one click, and confirm a subscription.
//!
//! A `GET` changes nothing, since programs follow links too. Changes are written by [`consent`].
//!
//! [`consent`]: contacts::consent

pub mod api;
pub mod model;
pub mod ops;
mod page;
mod store;

pub use self::page::refusal;
