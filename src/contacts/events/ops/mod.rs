//! Recording events through the write path, querying and watching them, and those that were refused.

pub mod dead_letters;
pub mod live;
pub mod people;
pub mod read;
pub mod rejected;
pub mod track;
