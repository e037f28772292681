//! How far an import came: a file beside the imported one, by which it goes on after it was killed.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use anyhow::Context as _;
use kernel::KeyId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What is stored of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Progress {
    /// Bytes of the file, and when it was changed: another file is another import.
    file_bytes: u64,
    file_changed_ms: u64,
    /// The workspace and the server.
    target: String,
    /// The key that the command made; it is revoked when the import goes on with another.
    pub(super) key: Option<String>,
    /// Rows that are done: tracked durably, or listed as refused.
    pub(super) rows: u64,
    pub(super) accepted: u64,
    pub(super) refused: u64,
    /// Bytes of the list of refused rows.
    refused_bytes: u64,
}

/// A row that was refused.
#[derive(Debug, Serialize)]
pub(super) struct RefusedRow {
    pub(super) row: u64,
    pub(super) reason: String,
    /// The row as it was read.
    pub(super) value: Box<RawValue>,
}

/// The journal of an import, and its list of refused rows.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    pub(super) refused_path: PathBuf,
    refused: Option<File>,
    pub(super) progress: Progress,
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

impl Journal {
    /// Goes on with the import of this file, or begins one.
    ///
    /// # Errors
    /// When the journal is of an import to another target, or the file has changed since.
    pub(super) fn open(file: &Path, target: &str) -> anyhow::Result<Self> {
        let metadata =
            fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?;
        let changed = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let begun = Progress {
            file_bytes: metadata.len(),
            file_changed_ms: u64::try_from(changed.as_millis()).unwrap_or(u64::MAX),
            target: target.to_owned(),
            key: None,
            rows: 0,
            accepted: 0,
            refused: 0,
            refused_bytes: 0,
        };
        let path = beside(file, ".import.json");
        let refused_path = beside(file, ".refused.ndjson");
        let progress = match fs::read(&path) {
            Ok(bytes) => {
                let stored: Progress = serde_json::from_slice(&bytes)
                    .with_context(|| format!("{} is no journal", path.display()))?;
                let is_same = stored.target == begun.target
                    && stored.file_bytes == begun.file_bytes
                    && stored.file_changed_ms == begun.file_changed_ms;
                anyhow::ensure!(
                    is_same || stored.rows == 0,
                    "{} is of an import to {} of a file that has changed or goes elsewhere now: remove it to begin anew",
                    path.display(),
                    stored.target
                );
                // Without a row done there is nothing to go on with, but for the key.
                if is_same { stored } else { Progress { key: stored.key, ..begun } }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => begun,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let mut journal = Self { path, refused_path, refused: None, progress };
        journal.cut_refused()?;
        Ok(journal)
    }

    /// Takes away refused rows that were listed after the journal was last stored.
    fn cut_refused(&mut self) -> anyhow::Result<()> {
        let kept = self.progress.refused_bytes;
        let unwritable = || format!("cannot write {}", self.refused_path.display());
        if kept == 0 {
            return match fs::remove_file(&self.refused_path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(error).with_context(unwritable)
                }
                _ => Ok(()),
            };
        }
        let mut file =
            OpenOptions::new().write(true).open(&self.refused_path).with_context(unwritable)?;
        file.set_len(kept)?;
        file.seek(SeekFrom::End(0))?;
        self.refused = Some(file);
        Ok(())
    }

    /// Lists refused rows and stores how far the import came, both or none of them.
    pub(super) fn advance(
        &mut self,
        rows: u64,
        accepted: u64,
        refused: &[RefusedRow],
    ) -> anyhow::Result<()> {
        if !refused.is_empty() {
            let mut lines = Vec::new();
            for row in refused {
                serde_json::to_writer(&mut lines, row)?;
                lines.push(b'\n');
            }
            let file = match &mut self.refused {
                Some(file) => file,
                none => none
                    .insert(File::create(&self.refused_path).with_context(|| {
                        format!("cannot write {}", self.refused_path.display())
                    })?),
            };
            file.write_all(&lines)?;
            self.progress.refused_bytes += lines.len() as u64;
        }
        self.progress.rows = rows;
        self.progress.accepted += accepted;
        self.progress.refused += refused.len() as u64;
        self.store()
    }

    /// The id of the key that an interrupted run made; its place is taken by that of this run.
    pub(super) fn replace_key(&mut self, key: Option<KeyId>) -> anyhow::Result<Option<KeyId>> {
        let key = key.map(|key| key.as_str().to_owned());
        let before = std::mem::replace(&mut self.progress.key, key);
        self.store()?;
        Ok(before.and_then(|key| key.parse().ok()))
    }

    fn store(&self) -> anyhow::Result<()> {
        let next = beside(&self.path, ".next");
        fs::write(&next, serde_json::to_vec(&self.progress)?)
            .and_then(|()| fs::rename(&next, &self.path))
            .with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Ends the import: the journal goes, the list of refused rows stays.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        fs::remove_file(&self.path)
            .with_context(|| format!("cannot remove {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(row: u64) -> RefusedRow {
        let value = RawValue::from_string("1".to_owned()).unwrap();
        RefusedRow { row, reason: "no".to_owned(), value }
    }

    #[test]
    fn an_import_goes_on_where_its_journal_ends() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        fs::write(&file, "x").unwrap();
        let mut journal = Journal::open(&file, "w").unwrap();
        journal.advance(2, 1, &[refused(2)]).unwrap();
        let refused_path = journal.refused_path.clone();
        let listed = fs::read_to_string(&refused_path).unwrap();
        // Killed between the list and the journal.
        fs::write(&refused_path, format!("{listed}{listed}")).unwrap();

        let mut journal = Journal::open(&file, "w").unwrap();
        assert_eq!((journal.progress.rows, journal.progress.refused), (2, 1));
        assert_eq!(fs::read_to_string(&refused_path).unwrap(), listed);
        journal.advance(3, 0, &[refused(3)]).unwrap();
        assert_eq!(fs::read_to_string(&refused_path).unwrap().lines().count(), 2);

        assert!(Journal::open(&file, "another").is_err());
        fs::write(&file, "xy").unwrap();
        assert!(Journal::open(&file, "w").is_err(), "the file has changed");

        journal.finish().unwrap();
        Journal::open(&file, "w").unwrap().replace_key(Some(KeyId::mint())).unwrap();
        let other = Journal::open(&file, "another").unwrap();
        assert!(other.progress.key.is_some(), "nothing was done but a key was made");
        other.finish().unwrap();
        let anew = Journal::open(&file, "w").unwrap();
        assert_eq!(anew.progress.rows, 0);
        assert!(!refused_path.exists(), "a new import has its own list");
    }
}
