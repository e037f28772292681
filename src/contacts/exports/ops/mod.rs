//! Exports that are being answered.

pub mod events;
