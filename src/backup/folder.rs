//! The folder of a backup: under another name until it is whole.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};

use crate::manifest::FileEntry;

/// Ends the name of a folder that is not whole.
const UNFINISHED_SUFFIX: &str = ".partial";

/// The folder that a backup is written into. Removed when it is dropped before it is whole.
#[derive(Debug)]
pub(crate) struct Unfinished {
    target: PathBuf,
    path: PathBuf,
    is_whole: bool,
}

impl Unfinished {
    /// Makes the folder beside `target`, which may be missing or empty.
    pub(crate) fn make(target: &Path) -> anyhow::Result<Self> {
        let target = std::path::absolute(target)?;
        require_empty(&target, "name a folder that does not exist")?;
        let name = target.file_name().context("the target must be a folder of its own")?;
        let mut name = name.to_owned();
        name.push(UNFINISHED_SUFFIX);
        let path = target.with_file_name(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(
                "{} is there already: another backup is under way, or one was killed; remove it if none is",
                path.display()
            ),
            made => made.with_context(|| format!("cannot make {}", path.display()))?,
        }
        Ok(Self { target, path, is_whole: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder durable and gives it its name.
    pub(crate) fn finish(mut self, files: &BTreeMap<String, FileEntry>) -> anyhow::Result<()> {
        for (name, entry) in files {
            let found = fs::metadata(self.path.join(name)).map(|found| found.len());
            ensure!(
                found.is_ok_and(|bytes| bytes == entry.bytes),
                "{name} of the backup was changed or removed meanwhile"
            );
        }
        sync_folders(&self.path)?;
        require_empty(&self.target, "something was put there meanwhile")?;
        fs::rename(&self.path, &self.target)
            .with_context(|| format!("cannot rename the backup to {}", self.target.display()))?;
        self.is_whole = true;
        let parent = self.target.parent().context("the target must be a folder of its own")?;
        sync(parent)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It may be the disk that is full or gone; what stays has a name that says it is not whole.
        if !self.is_whole
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "the unfinished backup cannot be removed");
        }
    }
}

/// Refuses a folder that holds anything; one that is missing is fine. What a fresh file system brings is nothing.
pub(crate) fn require_empty(path: &Path, advice: &str) -> anyhow::Result<()> {
    require_empty_but(path, &[], advice)
}

/// Likewise, with files of these names allowed.
pub(crate) fn require_empty_but(path: &Path, but: &[&str], advice: &str) -> anyhow::Result<()> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("cannot read {}", path.display()))?,
    };
    for entry in entries {
        let name = entry?.file_name();
        let is_allowed = name == "lost+found" || but.iter().any(|it| name == *it);
        ensure!(is_allowed, "{} is not empty: {advice}", path.display());
    }
    Ok(())
}

/// Creates a file that only this user reads, and refuses one that is there.
pub(crate) fn create_file(path: &Path) -> anyhow::Result<File> {
    if let Some(parent) = path.parent() {
        // Only this one: a backup whose folder was removed ends here, and is not begun anew.
        match DirBuilder::new().mode(0o700).create(parent) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made.with_context(|| format!("cannot make {}", parent.display()))?,
        }
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("cannot make {}", path.display()))
}

/// Writes a whole file and makes its content durable.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let mut file = create_file(path)?;
    file.write_all(content)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Makes the names in a folder and in those below it durable.
pub(crate) fn sync_folders(path: &Path) -> anyhow::Result<()> {
    let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync(path)
}

fn sync(path: &Path) -> anyhow::Result<()> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .with_context(|| format!("cannot sync {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_its_name_only_once_it_is_whole() {
        let scratch = tempfile::tempdir().unwrap();
        let target = scratch.path().join("backup");
        let unfinished = Unfinished::make(&target).unwrap();
        write_file(&unfinished.path().join("a/b"), b"c").unwrap();
        let refusal = Unfinished::make(&target).unwrap_err().to_string();
        assert!(refusal.contains("backup.partial is there already"), "{refusal}");
        assert!(!target.exists());
        unfinished.finish(&BTreeMap::new()).unwrap();
        assert_eq!(fs::read(target.join("a/b")).unwrap(), b"c");
        let refusal = Unfinished::make(&target).unwrap_err().to_string();
        assert!(refusal.contains("is not empty"), "{refusal}");
    }

    #[test]
    fn an_unfinished_folder_is_removed_and_an_empty_target_is_taken() {
        let scratch = tempfile::tempdir().unwrap();
        let target = scratch.path().join("backup");
        fs::create_dir(&target).unwrap();
        let unfinished = Unfinished::make(&target).unwrap();
        let path = unfinished.path().to_owned();
        drop(unfinished);
        assert!(!path.exists());
        Unfinished::make(&target).unwrap().finish(&BTreeMap::new()).unwrap();
        let removed = Unfinished::make(&scratch.path().join("removed")).unwrap();
        fs::remove_dir(removed.path()).unwrap();
        assert!(write_file(&removed.path().join("a/b"), b"c").is_err(), "it is not made again");
        let entry = FileEntry { bytes: 1, sha256: String::new(), content_bytes: 1 };
        let refusal = removed.finish(&BTreeMap::from([("a/b".to_owned(), entry)])).unwrap_err();
        assert!(refusal.to_string().contains("removed meanwhile"), "{refusal}");
        let unwritable = Unfinished::make(Path::new("/proc/backup")).unwrap_err().to_string();
        assert!(unwritable.contains("cannot make /proc/backup.partial"), "{unwritable}");
    }
}
