//! Drives the kit over real sockets.

mod bodies;
mod connections;
mod described;
mod envelope;
mod kit;
mod limited;
mod observed;
