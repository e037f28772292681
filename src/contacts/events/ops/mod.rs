//! What tracking and reading events take: the write path, the stores, and who an id stands for.

pub mod read;
pub mod track;
