//! Rules about events that need no database.

pub mod people;
pub mod sessions;
