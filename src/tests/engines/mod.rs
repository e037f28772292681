//! The embedded engines as an operator meets them: killed, started twice, reached by commands.

pub(crate) mod command;
mod commands;
mod deaths;
mod places;
