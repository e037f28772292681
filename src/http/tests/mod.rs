//! Drives the kit over real sockets.
