//! Rows ClickHouse refused for their content, kept with the reason until an operator handles them.
//!
//! One file per refused batch, `<position, 20 digits>-<partition>.jsonl`, one JSON object per line:
//!
//! ```text
//! id           "<seq, 16 hex digits>", or "frame-<position>" for a frame that could not be read
//! atMs         when it was refused, milliseconds since 1970
//! workspaceId  eventId  eventName     whose and what (of a message event: the message and the type);
//!                                     null for an unreadable frame
//! code         ClickHouse's error number, 0 when it was not ClickHouse that refused
//! reason       the refusal's text
//! table        "events" or "message_events"; "events" when absent
//! row          the row by column name, as `FORMAT JSONEachRow` takes it; null for an unreadable frame
//! frame        the frame's bytes in hexadecimal, only when it could not be read
//! ```
//!
//! A file is written beside (`*.new`), synced, renamed and its name synced before the spool's cursor
//! moves past the rows. A crash in between writes it again under the same name or, when the batch is
//! cut differently, twice: the same `id` then occurs twice, [`list`] shows it once, and inserting it
//! twice gives one row, because the table collapses repeats.
//!
//! The pipeline only adds files; [`Retry`] and [`remove_of`] only rewrite and remove them, one at a time (each holds
//! `lock`). So a retry may run with or without a server.

mod person;
mod retry;
mod row;

use std::{
    collections::HashSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Write},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

pub use person::{PersonIds, remove_of};
#[cfg(test)]
pub(super) use retry::retry;
pub use retry::{Retry, RetryError, RetryReport, is_retrying};

use crate::{
    columns::Table,
    record::{BatchHeader, Record},
};

/// Characters of a refusal's text that are kept: ClickHouse repeats whole rows in some.
const REASON_CHARS_MAX: usize = 2000;

/// A refused row or an unreadable frame, stored as a line of JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// Names it: the arrival number in hexadecimal, or the frame's position.
    pub id: String,
    /// When it was refused, milliseconds since 1970.
    pub at_ms: u64,
    /// Whose event it is; none when the frame could not be read.
    pub workspace_id: Option<Uuid>,
    /// The event's id, of a message event the message's; likewise.
    pub event_id: Option<String>,
    /// The event's name, of a message event its type; likewise.
    pub event_name: Option<String>,
    /// ClickHouse's error number; 0 when it was not ClickHouse that refused.
    pub code: u16,
    /// Why it was refused.
    pub reason: String,
    /// The table it was for.
    #[serde(default)]
    pub table: Table,
    /// The row, ready for `FORMAT JSONEachRow`.
    pub row: Option<Box<RawValue>>,
    /// An unreadable frame's bytes in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
}

impl DeadLetter {
    /// Whose and what; when and why it was refused is left open.
    pub(super) fn of(header: &BatchHeader, record: &Record<'_>) -> Self {
        let workspace_id = Some(header.workspace_id);
        match record {
            Record::Event(event) => Self {
                id: format!("{:016x}", event.seq),
                workspace_id,
                event_id: Some(event.event_id.to_owned()),
                event_name: Some(event.event_name.to_owned()),
                table: Table::Events,
                row: row::of_event(header, event).ok(),
                ..Self::default()
            },
            Record::Message(event) => Self {
                id: format!("{:016x}", event.seq),
                workspace_id,
                event_id: Some(event.message_id.to_string()),
                event_name: Some(event.kind.as_str().to_owned()),
                table: Table::MessageEvents,
                row: row::of_message(header, event).ok(),
                ..Self::default()
            },
        }
    }
}

/// All dead letters in `dir`, oldest first. None when there is no such folder.
pub fn list(dir: &Path) -> io::Result<Vec<DeadLetter>> {
    let mut seen = HashSet::new();
    let mut letters = Vec::new();
    for path in files(dir)? {
        match read(&path) {
            Ok(found) => {
                letters.extend(found.into_iter().filter(|letter| seen.insert(letter.id.clone())));
            }
            // A retry has just dealt with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(letters)
}

/// Durably keeps the refused rows of one partition of a batch.
pub(super) fn keep(dir: &Path, name: &str, letters: &[DeadLetter]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    write(&dir.join(format!("{name}.jsonl")), letters)
}

pub(super) fn cut_reason(reason: &str) -> String {
    reason.chars().take(REASON_CHARS_MAX).collect()
}

fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> io::Result<Vec<DeadLetter>> {
    let mut letters = Vec::new();
    for line in BufReader::new(File::open(path)?).lines() {
        letters.push(serde_json::from_str(&line?)?);
    }
    Ok(letters)
}

fn write(path: &Path, letters: &[DeadLetter]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    let mut out = BufWriter::new(file);
    for letter in letters {
        serde_json::to_writer(&mut out, letter)?;
        out.write_all(b"\n")?;
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(&fresh, path)?;
    sync_parent(path)
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) => File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}
