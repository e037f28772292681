//! `/sender-domains`: the domains that a workspace may send email from, and the proof of ownership by DNS.

pub mod api;
pub mod dns;
pub mod model;
pub mod ops;
mod store;

mod state;

pub use self::state::SenderDomainState;
