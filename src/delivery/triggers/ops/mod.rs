//! The consumer that judges what comes in.

mod catalogue;
mod entering;
mod feed;
mod publish;
mod rounds;

pub use self::feed::{Triggers, TriggersError};
