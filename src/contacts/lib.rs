//! People: their events, profiles, consent, lists and suppressions, and the audiences made of them.

pub mod audience;
pub mod consent;
pub mod events;
pub mod lists;
pub mod suppressions;
pub mod users;
