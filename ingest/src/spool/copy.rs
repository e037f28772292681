//! A copy of a spool while its process goes on: for a backup.
//!
//! While a [`HeldSpool`] lives, the spool frees no segment. The cursors are read at its beginning, and the segments at
//! the end of the backup, after the stores: then every frame that was acknowledged before is in the copy or was
//! processed before the stores were read, and what was processed meanwhile is delivered to its consumers again, as after
//! a crash.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    cursor::{self, CURSOR_BYTES},
    files::{Disk, Files as _},
    segment::{SegmentHeader, live_id, live_path},
};

/// Locked, shared, while the spool is copied.
pub(super) const HOLD_FILE: &str = "hold";
/// The file that names the spool.
const IDENTITY_FILE: &str = "identity";

/// A spool that frees no segments, until this is dropped.
#[derive(Debug)]
pub struct HeldSpool {
    dir: PathBuf,
    small_files: Vec<SpoolFileCopy>,
    /// The first position that a consumer has not processed; none without consumers.
    first_needed: Option<u64>,
    _lock: File,
}

/// A small file of the spool, read whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpoolFileCopy {
    /// Name of the file in the spool's folder.
    pub name: String,
    /// The whole content of the file.
    pub content: Vec<u8>,
}

/// Why a spool was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A file operation failed.
    #[error("cannot read the spool in {}", dir.display())]
    Io {
        /// Folder of the spool.
        dir: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file is damaged.
    #[error("{} is damaged: start the server once, which repairs it", path.display())]
    Damaged {
        /// The file that cannot be read.
        path: PathBuf,
    },
    /// Frames were freed that the copy needs.
    #[error(
        "the spool is more than half full and freed segments meanwhile: try again when fewer events come in"
    )]
    Freed,
}

impl HeldSpool {
    /// Holds the spool in `dir`, and reads its cursors; none if there is no spool. Blocks for a moment.
    ///
    /// # Errors
    /// If a file cannot be opened or read, or is damaged.
    pub fn begin(dir: &Path) -> Result<Option<Self>, CopyError> {
        let failed = |source| CopyError::Io { dir: dir.to_owned(), source };
        if !dir.join(IDENTITY_FILE).try_exists().map_err(failed)? {
            return Ok(None);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(dir.join(HOLD_FILE)).map_err(failed)?;
        lock.lock_shared().map_err(failed)?;
        let identity = fs::read(dir.join(IDENTITY_FILE)).map_err(failed)?;
        let spool_id: [u8; 16] = identity
            .get(8..24)
            .and_then(|id| id.try_into().ok())
            .ok_or_else(|| CopyError::Damaged { path: dir.join(IDENTITY_FILE) })?;
        let mut small_files =
            vec![SpoolFileCopy { name: IDENTITY_FILE.to_owned(), content: identity }];
        let mut first_needed = None;
        for name in Disk.list(dir).map_err(failed)? {
            if cursor::name_of(&name).is_none() {
                continue;
            }
            let content = fs::read(dir.join(&name)).map_err(failed)?;
            let bytes: Option<&[u8; CURSOR_BYTES]> = content.as_slice().try_into().ok();
            let mark = bytes
                .and_then(|bytes| cursor::decode(bytes, &spool_id))
                .ok_or_else(|| CopyError::Damaged { path: dir.join(&name) })?;
            let position = mark.position.get();
            first_needed = Some(first_needed.map_or(position, |first: u64| first.min(position)));
            small_files.push(SpoolFileCopy { name, content });
        }
        Ok(Some(Self { dir: dir.to_owned(), small_files, first_needed, _lock: lock }))
    }

    /// The spool's identity and its cursors, as they were at the beginning.
    pub fn small_files(&self) -> &[SpoolFileCopy] {
        &self.small_files
    }

    /// The segments there are now, to be copied before this is dropped. The newest may grow meanwhile: a frame that is
    /// not whole in the copy was not acknowledged when this was called.
    ///
    /// # Errors
    /// If a segment cannot be read, or frames that the copy needs were freed.
    pub fn segments(&self) -> Result<Vec<PathBuf>, CopyError> {
        let failed = |source| CopyError::Io { dir: self.dir.clone(), source };
        let names = Disk.list(&self.dir).map_err(failed)?;
        let mut ids: Vec<u64> = names.iter().filter_map(|name| live_id(name)).collect();
        ids.sort_unstable();
        if let (Some(oldest), Some(needed)) = (ids.first(), self.first_needed) {
            let file = Disk.open(&live_path(&self.dir, *oldest)).map_err(failed)?;
            // The base of one with a damaged header is not known; the next start finds its frames.
            let header = SegmentHeader::read(file.as_ref()).map_err(failed)?;
            if header.is_some_and(|header| header.base > needed) {
                return Err(CopyError::Freed);
            }
        }
        Ok(ids.into_iter().map(|id| live_path(&self.dir, id)).collect())
    }
}
