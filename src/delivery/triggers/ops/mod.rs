//! The consumer that judges what comes in.

mod catalogue;
mod entering;
mod feed;
mod rounds;
mod telling;

pub use self::feed::{Triggers, TriggersError};
