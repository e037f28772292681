//! The embedded engines in operation: killed, started twice, used by commands.

pub(crate) mod command;
mod commands;
mod crashes;
mod directories;
