//! The generic gateway: an operator's own HTTP endpoint for any channel.

mod callback;
mod send;

pub use self::callback::{Generic, Signal, TextBack};
pub(crate) use self::send::Gateway;
