//! The embedded engines as an operator meets them: killed, started twice, reached by commands.

mod command;
mod commands;
mod deaths;
mod places;
