//! Errors of the engines, each one line that names a remedy.

use std::{
    io,
    path::{Path, PathBuf},
};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "another millrace (pid {pid}) uses the data directory {}: stop it, or set MILLRACE_DATA_DIR to another folder",
        dir.display()
    )]
    Busy {
        dir: PathBuf,
        /// The holder's pid; 0 if it has not written it yet.
        pid: u32,
    },
    #[error("cannot {doing} {}: {reason}", path.display())]
    File {
        /// The failed operation: `create`, `read`.
        doing: &'static str,
        path: PathBuf,
        reason: io::Error,
    },
    /// An engine's programs cannot be installed.
    #[error("{0}")]
    Install(String),
    /// An engine does not start or answer.
    #[error("{engine} does not start: {reason}")]
    Start {
        engine: &'static str,
        /// The last lines that the engine printed.
        reason: String,
    },
    /// An invalid setting of the engines.
    #[error("{0}")]
    Setting(String),
}

impl Error {
    /// Adds a path and the operation to an I/O error.
    pub(super) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |reason| Self::File { doing, path: path.to_owned(), reason }
    }
}
