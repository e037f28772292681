//! What comes back: each teller believed for its own proof alone, heard once, and acted on.

mod email;
pub(crate) mod fixture;
mod generic;
pub(crate) mod heads;
mod mail;
mod phone;
