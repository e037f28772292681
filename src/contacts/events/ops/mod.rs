//! Recording events through the write path, and querying them.

pub mod people;
pub mod read;
pub mod track;
