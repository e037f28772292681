//! Contacts: their events, profiles and identifiers, consent, lists and suppressions, and audiences of profiles.

pub mod audience;
pub mod consent;
pub mod events;
pub mod identity;
pub mod lists;
pub mod page;
pub mod profile_calls;
mod state;
pub mod suppressions;
pub mod users;

pub use self::state::ContactState;
