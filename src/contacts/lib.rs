//! Contacts: their events, profiles, consent, lists and suppressions, and audiences of profiles.

pub mod audience;
pub mod consent;
pub mod events;
pub mod lists;
pub mod page;
mod state;
pub mod suppressions;
pub mod users;

pub use self::state::ContactState;
