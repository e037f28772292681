//! The consumer of the spool that applies calls, and how it applies them.

mod apply;
mod consumer;

pub use self::consumer::{ProfileCalls, ProfileCallsError};
