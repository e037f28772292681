//! ClickHouse in a process of our own, behind its own HTTP interface.
//!
//! `libchdb.so` is the whole ClickHouse engine as a shared library. This crate loads it and answers ClickHouse's HTTP
//! protocol on a loopback address with a secret, so that the rest of the program speaks to the embedded engine and to a
//! ClickHouse cluster in one and the same way. The process is meant to do nothing else: a crash inside the library takes
//! this process down and leaves its parent, who starts it again.

#![warn(missing_docs)]

mod answer;
mod auth;
mod body;
mod compression;
mod configuration;
mod confirmed_reads;
mod engine;
mod fault;
mod ffi;
mod insert;
mod merges;
mod query;
mod request;
mod server;
mod session;
mod statement;
mod wire;

use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
};

pub use configuration::RowAccess;
pub use server::serve;

/// What the embedded engine runs on.
pub struct Options {
    /// The library, `libchdb.so` (or `.dylib`).
    pub library: PathBuf,
    /// Where the tables live; made with mode 0700 when missing.
    pub data_dir: PathBuf,
    /// What to take connections from: a listening socket on a loopback address.
    pub listener: TcpListener,
    /// The one user clients may name.
    pub user: String,
    /// Password of `user`, in plain text.
    pub password: String,
    /// The database a request means when it names none; created when missing.
    pub database: String,
    /// What the engine may allocate, in bytes, caches included.
    pub memory_bytes: u64,
    /// How many statements run at once; further ones wait their turn.
    pub connections: usize,
    /// A role that sees rows of one tenant only; none where there is no such role.
    pub row_access: Option<RowAccess>,
}

/// An engine that answers.
#[derive(Debug)]
pub struct Ready {
    /// Address of the listener, with the port the system chose for port 0.
    pub address: SocketAddr,
    /// The library's version, where it is newer than the one this crate is tested with.
    pub untested_version: Option<String>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Options")
            .field("library", &self.library)
            .field("data_dir", &self.data_dir)
            .field("listener", &self.listener)
            .field("user", &self.user)
            .field("database", &self.database)
            .field("memory_bytes", &self.memory_bytes)
            .field("connections", &self.connections)
            .field("row_access", &self.row_access)
            .finish_non_exhaustive()
    }
}
