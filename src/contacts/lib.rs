//! Contacts: their events, profiles, consent and lists, and audiences of profiles.

pub mod consent;
pub mod events;
pub mod lists;
mod state;
pub mod users;

pub use self::state::ContactState;
