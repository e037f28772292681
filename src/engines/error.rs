//! Why an engine does not run, in one plain line that says what to do.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why engines cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another program holds the data directory.
    #[error(
        "another millrace (pid {pid}) uses the data directory {}: stop it, or set MILLRACE_DATA_DIR to another folder",
        dir.display()
    )]
    Busy {
        dir: PathBuf,
        /// Who holds it; 0 when the holder has not said yet.
        pid: u32,
    },
    /// A file or folder cannot be used.
    #[error("cannot {doing} {}: {reason}", path.display())]
    File {
        /// What was tried: `create`, `read`.
        doing: &'static str,
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// An engine's programs cannot be had.
    #[error("{0}")]
    Install(String),
    /// An engine does not start or answer.
    #[error("{engine} does not start: {reason}")]
    Start {
        engine: &'static str,
        /// What it said last.
        reason: String,
    },
    /// A setting about engines cannot be used.
    #[error("{0}")]
    Setting(String),
}

impl Error {
    /// Puts a path and what was tried to an I/O error.
    pub(super) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |reason| Self::File { doing, path: path.to_owned(), reason }
    }
}
