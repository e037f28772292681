//! The folder of installed engines, shared by all programs of this machine.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use nix::unistd::Uid;
use tempfile::TempDir;

use super::{
    super::{Error, account::Account, data_dir::private_file},
    package::Package,
};

/// Marks a complete installation: its files with their sizes.
const MARKER: &str = "complete.json";
/// The cache of installations by root.
const SYSTEM_CACHE: &str = "/var/cache/millrace";

/// Selects the cache: the configured one, else `$XDG_CACHE_HOME/millrace`, else `~/.cache/millrace`. `reader`
/// cannot access root's home, so for root it is `/var/cache/millrace` unless a folder that `reader` can
/// access is configured.
pub(super) fn choose(setting: Option<PathBuf>, reader: Option<&Account>) -> Result<PathBuf, Error> {
    make(locate(setting, reader)?)
}

/// The same without creating it.
pub(super) fn locate(setting: Option<PathBuf>, reader: Option<&Account>) -> Result<PathBuf, Error> {
    if let Some(dir) = setting {
        return Ok(dir);
    }
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let named = absolute("XDG_CACHE_HOME");
    if Uid::effective().is_root() {
        let reachable = |dir: &PathBuf| {
            let existing = dir.ancestors().find(|step| step.exists());
            reader.is_none_or(|reader| existing.is_some_and(|step| reader.can_access(step)))
        };
        return Ok(named.filter(reachable).map_or(PathBuf::from(SYSTEM_CACHE), |dir| ours(&dir)));
    }
    match named.or_else(|| Some(absolute("HOME")?.join(".cache"))) {
        Some(dir) => Ok(ours(&dir)),
        None => Err(Error::Install(
            "there is no folder to install engines in: set XDG_CACHE_HOME or HOME".to_owned(),
        )),
    }
}

fn ours(dir: &Path) -> PathBuf {
    dir.join("millrace")
}

fn make(dir: PathBuf) -> Result<PathBuf, Error> {
    fs::create_dir_all(&dir).map_err(Error::file("create the folder", &dir))?;
    Ok(dir)
}

/// Waits until no other program installs the package.
pub(super) fn lock(cache: &Path, package: &Package) -> Result<File, Error> {
    let path = cache.join(format!("{}.lock", package.folder()));
    let file = private_file(&path).map_err(Error::file("open", &path))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(Error::file("lock", &path)(error)),
    }
    tracing::info!(
        engine = package.engine,
        "waiting for another program that installs {}",
        package.engine
    );
    file.lock().map_err(Error::file("lock", &path))?;
    Ok(file)
}

/// A temporary folder beside the final one. The caller holds the package's lock, so folders left by killed
/// installers are removed too.
pub(super) fn staging(cache: &Path, package: &Package) -> Result<TempDir, Error> {
    let prefix = format!(".staging-{}-", package.folder());
    for entry in fs::read_dir(cache).map_err(Error::file("read", cache))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            // The next installation tries again.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir_in(cache)
        .map_err(Error::file("create a folder in", cache))
}

/// The complete installation by root, if there is one.
pub(super) fn of_system(package: &Package) -> Option<PathBuf> {
    let cache = Path::new(SYSTEM_CACHE);
    // A folder owned by another user could hold anything.
    let trusted = fs::symlink_metadata(cache)
        .is_ok_and(|found| found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0);
    complete(&cache.join(package.folder()), package).filter(|_| trusted)
}

/// The package's folder if it is complete.
pub(super) fn complete(home: &Path, package: &Package) -> Option<PathBuf> {
    let marker: BTreeMap<String, u64> =
        serde_json::from_slice(&fs::read(home.join(MARKER)).ok()?).ok()?;
    let root = home.join("node_modules").join(package.name?);
    let whole = package.files.iter().all(|file| {
        let size = fs::metadata(root.join(file)).map(|found| found.len()).ok();
        size.is_some() && size == marker.get(*file).copied()
    });
    whole.then_some(root)
}

/// Moves a finished staging folder into its place and marks it complete.
pub(super) fn finish(staging: TempDir, home: &Path, package: &Package) -> Result<PathBuf, Error> {
    let name = package.name.unwrap_or_default();
    let root = staging.path().join("node_modules").join(name);
    let mut sizes = BTreeMap::new();
    for file in package.files {
        let path = root.join(file);
        let size = fs::metadata(&path).map_err(Error::file("read", &path))?.len();
        sizes.insert(*file, size);
    }
    open_up(staging.path()).map_err(Error::file("set modes in", staging.path()))?;
    let marker = staging.path().join(MARKER);
    let text = serde_json::to_vec(&sizes).expect("names and numbers are JSON");
    fs::write(&marker, text).map_err(Error::file("write", &marker))?;
    if home.exists() {
        // Incomplete, otherwise it would have been used.
        fs::remove_dir_all(home).map_err(Error::file("remove", home))?;
    }
    fs::rename(staging.path(), home).map_err(Error::file("create", home))?;
    // Renamed: there is nothing left to remove.
    let _ = staging.keep();
    Ok(home.join("node_modules").join(name))
}

/// Lets every user of the machine read and execute the files, whatever the umask was.
fn open_up(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        if found.is_dir() {
            open_up(&entry.path())?;
        } else if found.is_file() {
            let bits = if found.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(bits))?;
        }
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}
