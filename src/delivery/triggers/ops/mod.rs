//! The consumer that matches incoming events.

mod batches;
mod catalogue;
mod consumer;
mod entries;
mod held_back;
mod matching;
mod profiles_first;
mod publish;

pub use self::consumer::{Triggers, TriggersError};
