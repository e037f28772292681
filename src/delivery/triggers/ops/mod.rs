//! The consumer that judges what comes in.

mod batches;
mod catalogue;
mod consumer;
mod entries;
mod publish;

pub use self::consumer::{Triggers, TriggersError};
