//! Tables that are exports: their columns and cursors.

pub mod events;
pub mod people;
