//! Rules about events that need no database.

pub mod sessions;
