//! The list of erasures, in a file beside the stores: who was erased, as keyed hashes of internal ids. A store that is restored
//! from an older backup has these people again, and they are erased again.
//!
//! One line of JSON an erasure. A line that a crash cut short is not counted: the erasure was not done yet, and is added again.

use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use kernel::{Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::model::EventsFate;

/// The file's name in the data directory.
pub const FILE: &str = "erasures.jsonl";

/// A profile that was erased.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErasedPerson {
    /// The workspace that it was in.
    pub workspace: WorkspaceId,
    /// The keyed hash of its internal id, in hexadecimal.
    pub hash: String,
    /// What became of its events.
    pub events: EventsFate,
    /// When it was erased, milliseconds since 1970.
    pub at: Timestamp,
}

/// The list in one data directory.
#[derive(Debug, Clone)]
pub struct ErasuresFile {
    path: PathBuf,
}

impl ErasuresFile {
    /// The list in a data directory, where there may be none yet.
    pub fn of(data_dir: &Path) -> Self {
        Self { path: data_dir.join(FILE) }
    }

    /// Everyone in the list.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&self) -> io::Result<BTreeSet<ErasedPerson>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(error),
        };
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Adds those that are not in the list, durably. Returns how many.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn add(&self, people: &[ErasedPerson]) -> io::Result<usize> {
        let known: BTreeSet<_> =
            self.read()?.into_iter().map(|it| (it.workspace, it.hash)).collect();
        let new: Vec<_> =
            people.iter().filter(|it| !known.contains(&(it.workspace, it.hash.clone()))).collect();
        if new.is_empty() {
            return Ok(0);
        }
        // A line that was cut short ends here.
        let mut lines = String::from("\n");
        for person in &new {
            lines += &serde_json::to_string(person)?;
            lines.push('\n');
        }
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?;
        file.write_all(lines.as_bytes())?;
        file.sync_all()?;
        if let Some(dir) = self.path.parent() {
            fs::File::open(dir)?.sync_all()?;
        }
        Ok(new.len())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn person(hash: &str) -> ErasedPerson {
        ErasedPerson {
            workspace: WorkspaceId::new(Uuid::from_u128(7)),
            hash: hash.to_owned(),
            events: EventsFate::Delete,
            at: Timestamp::from_millis(1_700_000_000_000),
        }
    }

    #[test]
    fn each_person_is_listed_once_and_a_torn_line_is_added_again() {
        let dir = tempfile::tempdir().unwrap();
        let list = ErasuresFile::of(dir.path());
        assert!(list.read().unwrap().is_empty());
        assert_eq!(list.add(&[person("aa"), person("bb")]).unwrap(), 2);
        assert_eq!(list.add(&[person("bb")]).unwrap(), 0);
        let path = dir.path().join(FILE);
        let written = fs::metadata(&path).unwrap().len();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(written - 10).unwrap();
        assert_eq!(list.read().unwrap().len(), 1);
        assert_eq!(list.add(&[person("bb"), person("cc")]).unwrap(), 2);
        let hashes: Vec<_> = list.read().unwrap().into_iter().map(|it| it.hash).collect();
        assert_eq!(hashes, ["aa", "bb", "cc"]);
    }
}
