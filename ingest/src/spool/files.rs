//! The few file operations the spool needs, behind a trait so that tests can fail every one of them.

use std::{
    fmt::Debug,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, FileExt, OpenOptionsExt as _},
    path::Path,
};

/// The file system as the spool uses it. [`Disk`] is the real one; tests bring a fake that loses
/// unsynced writes and fails chosen calls.
pub trait Files: Debug + Send + Sync + 'static {
    /// Makes `dir` and its parents.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// The names in `dir`, unordered.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Takes an exclusive lock held until the result is dropped; `WouldBlock` when another holds it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Debug + Send + Sync>>;
    /// Whether another process holds a shared lock on `path`; false where there is no such file.
    fn is_held(&self, path: &Path) -> io::Result<bool>;
    /// Opens `path` for reading and writing, making an empty file where there is none.
    fn open(&self, path: &Path) -> io::Result<Box<dyn SpoolFile>>;
    /// Renames, replacing `to`. Durable only after [`Files::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. Durable only after [`Files::sync_dir`].
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in `dir` durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Bytes an unprivileged writer may still take from the file system of `dir`.
    fn available_bytes(&self, dir: &Path) -> io::Result<u64>;
}

/// One open file of the spool.
pub trait SpoolFile: Debug + Send + Sync {
    /// Length of the file in bytes.
    fn length(&self) -> io::Result<u64>;
    /// Sets the length and reserves the space for it, so that later writes cannot run out of disk.
    fn allocate(&self, bytes: u64) -> io::Result<()>;
    /// Cuts (or extends with zeros) to `bytes`.
    fn truncate(&self, bytes: u64) -> io::Result<()>;
    /// Writes all of `data` at `offset`.
    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()>;
    /// Reads into `buffer` from `offset`; fewer bytes only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Makes the data durable (`fdatasync`).
    fn sync(&self) -> io::Result<()>;
}

/// Bytes of a disk that are read or fail together.
const SECTOR_BYTES: u64 = 4096;
/// How often a sector is read before it counts as unreadable.
const SECTOR_TRIES: usize = 3;

/// [`SpoolFile::read_at`], with zeros in place of sectors that the disk cannot read: what lay in them
/// fails its checksum, and everything else can be read. Each is counted and logged.
pub(super) fn read_around_bad_sectors(
    file: &dyn SpoolFile,
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    match file.read_at(buffer, offset) {
        Err(error) if is_bad_sector(&error) => {}
        read => return read,
    }
    let mut done = 0;
    while done < buffer.len() {
        let at = offset + done as u64;
        let rest = usize::try_from(SECTOR_BYTES - at % SECTOR_BYTES).unwrap_or(usize::MAX);
        let end = done.saturating_add(rest).min(buffer.len());
        let sector = &mut buffer[done..end];
        let wanted = sector.len();
        match read_sector(file, sector, at)? {
            Some(0) => break,
            Some(count) if count < wanted => return Ok(done + count),
            Some(_) => {}
            None => {
                sector.fill(0);
                metrics_catalogue::SPOOL_UNREADABLE_BYTES.increment(wanted as u64);
                tracing::error!(
                    ?file,
                    offset = at,
                    bytes = wanted,
                    "the disk cannot read a part of the spool"
                );
            }
        }
        done = end;
    }
    Ok(done)
}

/// How many bytes were read; none when the disk cannot read them, asked several times.
fn read_sector(file: &dyn SpoolFile, sector: &mut [u8], at: u64) -> io::Result<Option<usize>> {
    for _ in 0..SECTOR_TRIES {
        match file.read_at(sector, at) {
            Ok(count) => return Ok(Some(count)),
            Err(error) if is_bad_sector(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn is_bad_sector(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::libc::EIO)
}

/// Replaces a small file as a whole, durably: written beside, synced, renamed, directory synced.
pub(super) fn replace_file(
    files: &dyn Files,
    dir: &Path,
    name: &str,
    bytes: &[u8],
) -> io::Result<()> {
    let fresh = dir.join(format!("{name}.new"));
    // Whatever an earlier try left must not be written again: its sync may have failed.
    match files.remove(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = files.open(&fresh)?;
    file.write_at(bytes, 0)?;
    file.sync()?;
    files.rename(&fresh, &dir.join(name))?;
    files.sync_dir(dir)
}

/// Makes a folder and its parents, durably, for this user alone. One that is there stays as it is.
///
/// # Errors
/// When a folder cannot be made or synced.
pub fn create_private_dir(dir: &Path) -> io::Result<()> {
    let parents = parents_of_new(dir);
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    parents.iter().try_for_each(|parent| match Disk.sync_dir(parent) {
        // A folder that may be entered and not read cannot be synced; nothing was made in it by us.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    })
}

/// The folders that get a new name when `dir` is made with its parents, and always the one `dir` is
/// in: an earlier start may have made it and died.
fn parents_of_new(dir: &Path) -> Vec<&Path> {
    let mut parents = Vec::new();
    for folder in dir.ancestors() {
        let Some(parent) = folder.parent() else { break };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        parents.push(parent);
        if parent.exists() {
            break;
        }
    }
    parents
}

/// The real file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Files for Disk {
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        create_private_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Debug + Send + Sync>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(file)),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn is_held(&self, path: &Path) -> io::Result<bool> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file?,
        };
        match file.try_lock() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn SpoolFile>> {
        Ok(Box::new(DiskFile(open(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn available_bytes(&self, dir: &Path) -> io::Result<u64> {
        let stat = nix::sys::statvfs::statvfs(dir)?;
        #[expect(clippy::useless_conversion, reason = "the field types differ between platforms")]
        let (blocks, block_bytes) =
            (u64::from(stat.blocks_available()), u64::from(stat.fragment_size()));
        Ok(blocks.saturating_mul(block_bytes))
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Opens a file that is there, for reading alone.
pub(super) fn open_to_read(path: &Path) -> io::Result<Box<dyn SpoolFile>> {
    Ok(Box::new(DiskFile(File::open(path)?)))
}

#[derive(Debug)]
struct DiskFile(File);

impl SpoolFile for DiskFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        if self.0.metadata()?.len() > bytes {
            self.0.set_len(bytes)?;
        }
        reserve(&self.0, bytes)?;
        // The new length must be durable: `fdatasync` alone may leave it out on some file systems.
        self.0.sync_all()
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(data, offset)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        while read < buffer.len() {
            match self.0.read_at(&mut buffer[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    let length = i64::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    Ok(nix::fcntl::posix_fallocate(file, 0, length)?)
}

/// Elsewhere space is taken by writing zeros, which also works on file systems without extents.
#[cfg(not(target_os = "linux"))]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    const ZEROS: &[u8] = &[0; 1 << 20];
    let mut offset = 0;
    while offset < bytes {
        let count = usize::try_from((bytes - offset).min(ZEROS.len() as u64))
            .map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        file.write_all_at(&ZEROS[..count], offset)?;
        offset += count as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parents_of_new;

    #[test]
    fn every_folder_in_which_a_name_is_new_is_synced() {
        let there = tempfile::tempdir().unwrap();
        let there = there.path();
        let deep = there.join("a/b/c");
        let expected = [there.join("a/b"), there.join("a"), there.to_owned()];
        assert_eq!(parents_of_new(&deep), expected);
        std::fs::create_dir_all(there.join("a")).unwrap();
        assert_eq!(parents_of_new(&deep), expected[..2]);
        assert_eq!(parents_of_new(there), [there.parent().unwrap()]);
        assert_eq!(parents_of_new("spool".as_ref()), [std::path::Path::new(".")]);
    }
}
