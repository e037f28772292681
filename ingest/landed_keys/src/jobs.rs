//! What takes long, done by other threads: reading a file, and filling one with the keys of a table.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    FILLING_SUFFIX, SUFFIX,
    file::{self, Checked, KeyFile},
    filter::{Filter, TAG_BYTES, TAG_BYTES_MIN},
};

/// Fingerprints written at once.
const PENDING_MAX: usize = 1 << 16;

pub(crate) fn path(dir: &Path, partition: u32) -> PathBuf {
    dir.join(format!("{partition:06}{SUFFIX}"))
}

/// The keys of a table, on their way into a partition's file. Dropped unfinished, it leaves nothing behind that counts.
#[derive(Debug)]
pub struct Fill {
    file: KeyFile,
    pending: Vec<u64>,
    from: PathBuf,
    to: PathBuf,
}

/// A file that holds the keys of a table.
#[derive(Debug)]
pub struct Filled {
    pub(crate) file: KeyFile,
    from: PathBuf,
    to: PathBuf,
}

impl Fill {
    pub(crate) fn begin(dir: &Path, partition: u32) -> io::Result<Self> {
        let from = dir.join(format!("{partition:06}{FILLING_SUFFIX}"));
        let file = KeyFile::create(&from)?;
        Ok(Self { file, pending: Vec::new(), from, to: path(dir, partition) })
    }

    /// Adds a key of the table. Blocks.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn push(&mut self, fingerprint: u64) -> io::Result<()> {
        self.pending.push(fingerprint);
        if self.pending.len() >= PENDING_MAX {
            self.file.append(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }

    /// Ends the keys of the table. Blocks.
    ///
    /// # Errors
    /// If the file cannot be written or synced.
    pub fn finish(mut self) -> io::Result<Filled> {
        self.file.append(&self.pending)?;
        self.file.sync()?;
        Ok(Filled { file: self.file, from: self.from, to: self.to })
    }
}

impl Filled {
    /// Gives the file its name: from now on it counts.
    pub(crate) fn publish(self) -> io::Result<KeyFile> {
        self.file.sync()?;
        fs::rename(&self.from, &self.to)?;
        if let Some(dir) = self.to.parent() {
            file::sync_dir(dir)?;
        }
        Ok(self.file)
    }
}

/// A file to be read into a filter.
#[derive(Debug)]
pub struct Load {
    pub(crate) path: PathBuf,
    /// How much of it is to be read; all where it was not read before.
    pub(crate) bytes: Option<u64>,
    /// Bytes that the filter should not exceed, so that others fit too.
    pub(crate) share_bytes: usize,
    /// Bytes that it may not exceed.
    pub(crate) memory_max_bytes: usize,
}

/// What was read of a file.
#[derive(Debug)]
pub struct Loaded {
    pub(crate) checked: Checked,
    /// None if it would not fit the memory.
    pub(crate) filter: Option<Filter>,
}

impl Load {
    /// Reads the file. Blocks.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub fn run(self) -> io::Result<Loaded> {
        let keys = usize::try_from(fs::metadata(&self.path)?.len() / 8).unwrap_or(usize::MAX);
        // Room for half as many more, or for some more.
        let (roomy, snug) = (keys.saturating_add(keys / 2), keys.saturating_add(keys / 8));
        let smallest = (keys, TAG_BYTES_MIN);
        let sizes = [
            (roomy, TAG_BYTES),
            (snug, TAG_BYTES),
            (roomy, TAG_BYTES_MIN),
            (snug, TAG_BYTES_MIN),
            smallest,
        ];
        let fits = |size: &(usize, usize), bytes| Filter::bytes_for(size.0, size.1) <= bytes;
        let size = sizes
            .into_iter()
            .find(|size| fits(size, self.share_bytes))
            .or_else(|| Some(smallest).filter(|size| fits(size, self.memory_max_bytes)));
        let mut filter = size.map(|(keys, tag_bytes)| Filter::for_keys(keys, tag_bytes));
        let checked = file::read(&self.path, self.bytes, |fingerprint| {
            if let Some(filter) = &mut filter {
                filter.insert(fingerprint);
            }
        })?;
        Ok(Loaded { checked, filter })
    }
}
