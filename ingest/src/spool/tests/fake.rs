//! A disk in memory that forgets what was not synced, and fails on request.
//!
//! A power cut keeps, of each file's unsynced writes, any subset of its 64-byte sectors, and of the
//! unsynced changes to names any prefix. A failed sync drops the unsynced writes for good while they
//! still read back, which is what Linux does.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

use crate::spool::{Files, SpoolFile};

/// The unit in which a power cut tears a write.
const SECTOR_BYTES: usize = 64;

/// Which call fails, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    /// Calls that still succeed.
    pub after: usize,
    /// Calls that then fail.
    pub times: usize,
    pub kind: io::ErrorKind,
    /// Only syncs count and fail.
    pub only_sync: bool,
}

#[derive(Debug, Default, Clone)]
struct Inode {
    durable: Vec<u8>,
    view: Vec<u8>,
    /// A sync failed: later ones report success and make nothing durable.
    is_broken: bool,
    /// What cannot be read.
    bad: Vec<Range<usize>>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Set(PathBuf, usize),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

#[derive(Debug, Default)]
struct Disk {
    inodes: Vec<Inode>,
    durable_names: BTreeMap<PathBuf, usize>,
    names: BTreeMap<PathBuf, usize>,
    changes: Vec<NameChange>,
    fault: Option<Fault>,
    /// Calls until one panics.
    panic_in: Option<usize>,
    capacity_bytes: Option<u64>,
    calls: usize,
    locked: Vec<PathBuf>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct FakeFiles {
    disk: Arc<Mutex<Disk>>,
}

impl FakeFiles {
    pub(super) fn fail(&self, fault: Fault) {
        self.disk.lock().fault = Some(fault);
    }

    /// The call after so many panics, and none after it.
    pub(super) fn panic_after(&self, calls: usize) {
        self.disk.lock().panic_in = Some(calls);
    }

    pub(super) fn has_panicked(&self) -> bool {
        self.disk.lock().panic_in.is_none()
    }

    pub(super) fn heal(&self) {
        self.disk.lock().fault = None;
    }

    /// Whether the fault set last has struck.
    pub(super) fn has_failed(&self) -> bool {
        self.disk.lock().fault.is_some_and(|fault| fault.times == 0)
    }

    pub(super) fn limit_capacity(&self, bytes: Option<u64>) {
        self.disk.lock().capacity_bytes = bytes;
    }

    /// The disk as it is found after a power cut now; this one goes on unharmed.
    pub(super) fn after_power_cut(&self, random: &mut Random) -> Self {
        let disk = self.disk.lock();
        let mut names = disk.durable_names.clone();
        let kept = random.below(disk.changes.len() + 1);
        for change in &disk.changes[..kept] {
            apply(&mut names, change);
        }
        let inodes: Vec<Inode> = disk.inodes.iter().map(|inode| cut(inode, random)).collect();
        let after = Disk { inodes, durable_names: names.clone(), names, ..Disk::default() };
        Self { disk: Arc::new(Mutex::new(after)) }
    }

    /// The disk as a new process finds it: a crash of the process alone.
    pub(super) fn after_process_crash(&self) -> Self {
        let disk = self.disk.lock();
        let after = Disk {
            inodes: disk.inodes.clone(),
            durable_names: disk.names.clone(),
            names: disk.names.clone(),
            ..Disk::default()
        };
        Self { disk: Arc::new(Mutex::new(after)) }
    }

    pub(super) fn names(&self) -> Vec<String> {
        let disk = self.disk.lock();
        disk.names.keys().map(|path| path.file_name().unwrap().to_str().unwrap().into()).collect()
    }

    pub(super) fn content(&self, name: &str) -> Vec<u8> {
        let disk = self.disk.lock();
        disk.inodes[disk.names[&Path::new("/spool").join(name)]].view.clone()
    }

    pub(super) fn set_content(&self, name: &str, content: Vec<u8>) {
        let mut disk = self.disk.lock();
        let inode = disk.names[&Path::new("/spool").join(name)];
        disk.inodes[inode] = Inode { durable: content.clone(), view: content, ..Inode::default() };
    }

    /// Makes bytes of a file unreadable, whole disk sectors at once.
    pub(super) fn make_unreadable(&self, name: &str, bytes: Range<usize>) {
        let mut disk = self.disk.lock();
        let inode = disk.names[&Path::new("/spool").join(name)];
        disk.inodes[inode].bad.push(bytes);
    }

    fn call(&self, is_sync: bool) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.calls += 1;
        match disk.panic_in.as_mut() {
            Some(0) => {
                disk.panic_in = None;
                panic!("a call of the disk panics");
            }
            Some(left) => *left -= 1,
            None => {}
        }
        match &mut disk.fault {
            Some(fault) if is_sync || !fault.only_sync => {
                if fault.after > 0 {
                    fault.after -= 1;
                } else if fault.times > 0 {
                    fault.times -= 1;
                    return Err(fault.kind.into());
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn change(&self, change: NameChange) {
        let mut disk = self.disk.lock();
        apply(&mut disk.names, &change);
        disk.changes.push(change);
    }
}

fn apply(names: &mut BTreeMap<PathBuf, usize>, change: &NameChange) {
    match change {
        NameChange::Set(path, inode) => {
            names.insert(path.clone(), *inode);
        }
        NameChange::Remove(path) => {
            names.remove(path);
        }
        NameChange::Rename(from, to) => {
            if let Some(inode) = names.remove(from) {
                names.insert(to.clone(), inode);
            }
        }
    }
}

fn cut(inode: &Inode, random: &mut Random) -> Inode {
    let length = if random.below(2) == 0 { inode.durable.len() } else { inode.view.len() };
    let mut content = inode.durable.clone();
    content.resize(length, 0);
    for at in (0..length.min(inode.view.len())).step_by(SECTOR_BYTES) {
        let end = (at + SECTOR_BYTES).min(length).min(inode.view.len());
        if random.below(2) == 0 {
            content[at..end].copy_from_slice(&inode.view[at..end]);
        }
    }
    Inode { durable: content.clone(), view: content, bad: inode.bad.clone(), ..Inode::default() }
}

impl Files for FakeFiles {
    fn create_dir(&self, _: &Path) -> io::Result<()> {
        self.call(false)
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        self.call(false)?;
        Ok(self.names())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Debug + Send + Sync>> {
        self.call(false)?;
        let mut disk = self.disk.lock();
        if disk.locked.iter().any(|locked| locked == path) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        disk.locked.push(path.to_owned());
        Ok(Box::new(FakeLock { files: self.clone(), path: path.to_owned() }))
    }

    fn is_held(&self, _path: &Path) -> io::Result<bool> {
        Ok(false) // no other process sees this disk
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn SpoolFile>> {
        self.call(false)?;
        let known = self.disk.lock().names.get(path).copied();
        let inode = if let Some(inode) = known {
            inode
        } else {
            let inode = {
                let mut disk = self.disk.lock();
                disk.inodes.push(Inode::default());
                disk.inodes.len() - 1
            };
            self.change(NameChange::Set(path.to_owned(), inode));
            inode
        };
        Ok(Box::new(FakeFile { files: self.clone(), inode }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(false)?;
        self.change(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call(false)?;
        self.change(NameChange::Remove(path.to_owned()));
        Ok(())
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        self.call(true)?;
        let mut disk = self.disk.lock();
        disk.durable_names = disk.names.clone();
        disk.changes.clear();
        Ok(())
    }

    fn available_bytes(&self, _: &Path) -> io::Result<u64> {
        self.call(false)?;
        Ok(u64::MAX)
    }
}

#[derive(Debug)]
struct FakeLock {
    files: FakeFiles,
    path: PathBuf,
}

impl Drop for FakeLock {
    fn drop(&mut self) {
        self.files.disk.lock().locked.retain(|locked| *locked != self.path);
    }
}

#[derive(Debug)]
struct FakeFile {
    files: FakeFiles,
    inode: usize,
}

impl FakeFile {
    fn with<T>(&self, work: impl FnOnce(&mut Inode) -> T) -> T {
        work(&mut self.files.disk.lock().inodes[self.inode])
    }
}

impl SpoolFile for FakeFile {
    fn length(&self) -> io::Result<u64> {
        self.files.call(false)?;
        Ok(self.with(|inode| inode.view.len() as u64))
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        self.files.call(true)?;
        let disk = self.files.disk.lock();
        if let Some(capacity) = disk.capacity_bytes {
            let used: usize = disk.names.values().map(|inode| disk.inodes[*inode].view.len()).sum();
            if used as u64 + bytes > capacity {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        drop(disk);
        self.with(|inode| {
            inode.view.resize(usize::try_from(bytes).unwrap(), 0);
            inode.durable = inode.view.clone();
        });
        Ok(())
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.files.call(false)?;
        self.with(|inode| inode.view.resize(usize::try_from(bytes).unwrap(), 0));
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let outcome = self.files.call(false);
        let offset = usize::try_from(offset).unwrap();
        // A failed write may have written some of it.
        let data = if outcome.is_ok() { data } else { &data[..data.len() / 2] };
        self.with(|inode| {
            if inode.view.len() < offset + data.len() {
                inode.view.resize(offset + data.len(), 0);
            }
            inode.view[offset..offset + data.len()].copy_from_slice(data);
        });
        outcome
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.files.call(false)?;
        let offset = usize::try_from(offset).unwrap();
        self.with(|inode| {
            let rest = inode.view.get(offset..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            if inode.bad.iter().any(|bad| bad.start < offset + count && offset < bad.end) {
                return Err(io::Error::from_raw_os_error(nix::libc::EIO));
            }
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        })
    }

    fn sync(&self) -> io::Result<()> {
        let outcome = self.files.call(true);
        self.with(|inode| {
            inode.is_broken |= outcome.is_err();
            if !inode.is_broken {
                inode.durable = inode.view.clone();
            }
        });
        outcome
    }
}

/// Xorshift: the same numbers for the same seed.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % end as u64).unwrap()
    }
}
