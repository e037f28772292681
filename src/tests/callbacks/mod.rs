//! Callbacks: each source is authenticated by its own scheme; a report is applied once.

pub(crate) mod early_refusals;
mod email;
pub(crate) mod fixture;
mod generic;
mod mail;
mod phone;
