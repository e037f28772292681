//! Callbacks: each source is authenticated by its own scheme; a report is applied once.

mod email;
pub(crate) mod fixture;
mod generic;
pub(crate) mod heads;
mod mail;
mod phone;
