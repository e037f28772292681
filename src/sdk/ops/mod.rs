//! What apps ask for and tell.

pub(super) mod events;
mod live;
pub(super) mod messages;

pub use self::live::Live;
