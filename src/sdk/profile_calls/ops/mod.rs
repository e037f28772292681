//! The consumer of the spool that applies calls, how it applies them, and where it lists what a rule refuses.

mod apply;
mod backlog;
mod consumer;
mod refusals;

pub use self::consumer::{ProfileCalls, ProfileCallsError};
