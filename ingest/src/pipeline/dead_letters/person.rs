//! Removes the dead letters of people whose data is erased.

use std::{fs, io, path::Path};

use serde::Deserialize;
use uuid::Uuid;

use super::{DeadLetter, RetryError, files, read, retry, sync_parent, write};

/// The identifiers of people of a workspace.
#[derive(Debug, Clone, Default)]
pub struct PersonIds {
    /// The workspace that they are in.
    pub workspace: Uuid,
    /// Internal, external and anonymous ids, and aliases.
    pub ids: std::collections::HashSet<String>,
}

/// The identifiers of a row. Message events have the first alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RowIds {
    user_id: String,
    service_user_id: String,
    anonymous_id: String,
    alias_name: String,
}

impl PersonIds {
    /// Whether a letter is of one of the people. Of a frame that could not be read, whether it contains an identifier.
    fn has(&self, letter: &DeadLetter) -> io::Result<bool> {
        if letter.workspace_id.is_some_and(|workspace| workspace != self.workspace) {
            return Ok(false);
        }
        if let Some(row) = &letter.row {
            let row: RowIds = serde_json::from_str(row.get())?;
            let ids = [row.user_id, row.service_user_id, row.anonymous_id, row.alias_name];
            return Ok(ids.iter().any(|id| self.ids.contains(id)));
        }
        let Some(frame) = &letter.frame else { return Ok(false) };
        let frame = hex::decode(frame).map_err(io::Error::other)?;
        let contains = |id: &String| frame.windows(id.len()).any(|part| part == id.as_bytes());
        Ok(self.ids.iter().any(contains))
    }
}

/// Removes the dead letters of these people, durably. Returns how many there were.
///
/// # Errors
/// When a retry is under way, or a file cannot be read or replaced.
pub fn remove_of(dir: &Path, people: &[PersonIds]) -> Result<usize, RetryError> {
    let paths = files(dir)?;
    if paths.is_empty() {
        return Ok(0);
    }
    let _lock = retry::lock(dir)?;
    let mut removed = 0;
    for path in paths {
        let letters = match read(&path) {
            Ok(letters) => letters,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        let total = letters.len();
        let mut left = Vec::with_capacity(total);
        for letter in letters {
            let is_theirs =
                people.iter().map(|it| it.has(&letter)).collect::<io::Result<Vec<_>>>()?;
            if !is_theirs.contains(&true) {
                left.push(letter);
            }
        }
        removed += total - left.len();
        if left.is_empty() {
            fs::remove_file(&path)?;
            sync_parent(&path)?;
        } else if left.len() < total {
            write(&path, &left)?;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn letter(id: &str, workspace: Uuid, row: &str) -> DeadLetter {
        DeadLetter {
            id: id.to_owned(),
            workspace_id: Some(workspace),
            row: Some(RawValue::from_string(row.to_owned()).unwrap()),
            ..DeadLetter::default()
        }
    }

    #[test]
    fn only_letters_of_the_people_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (theirs, others) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let ids = ["ann", "a-1"].map(str::to_owned).into();
        let frame = DeadLetter {
            frame: Some(hex::encode("…a-1…")),
            id: "frame-7".to_owned(),
            ..DeadLetter::default()
        };
        let mixed = [
            letter("1", theirs, r#"{"user_id":"ann","properties":"{}"}"#),
            letter("2", theirs, r#"{"user_id":"","anonymous_id":"a-1"}"#),
            letter("3", others, r#"{"user_id":"ann"}"#),
            letter("4", theirs, r#"{"user_id":"anna","properties":"{\"x\":\"ann\"}"}"#),
            frame,
        ];
        super::super::keep(dir.path(), "mixed", &mixed).unwrap();
        let all = [letter("5", theirs, r#"{"service_user_id":"ann"}"#)];
        super::super::keep(dir.path(), "all", &all).unwrap();
        let people = [PersonIds { workspace: theirs, ids }];
        assert_eq!(remove_of(dir.path(), &people).unwrap(), 4);
        let left: Vec<_> = super::super::list(dir.path()).unwrap();
        assert_eq!(left.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["3", "4"]);
        assert!(!dir.path().join("all.jsonl").exists());
        assert_eq!(remove_of(dir.path(), &people).unwrap(), 0);
    }
}
