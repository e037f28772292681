//! Rules about events that need no database.

pub mod live;
pub mod people;
pub mod rejected;
pub mod sessions;
