//! Offers dead letters to ClickHouse again, after whatever made it refuse them was changed.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use bytes::Bytes;

use super::{DeadLetter, cut_reason, files, read, sync_parent, write};
use crate::{
    columns::Table,
    pipeline::{
        insert::{self, Statement},
        refusal::{self, Refusal},
    },
};

/// What became of the dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetryReport {
    /// Rows that are in ClickHouse now, and no dead letters any more.
    pub inserted: usize,
    /// Rows refused again; they stay, with the new reason.
    pub refused: usize,
    /// Frames that cannot be read; they stay.
    pub unreadable: usize,
}

/// Why a retry ended early. What it had done by then is done.
#[derive(Debug, thiserror::Error)]
pub enum RetryError {
    /// Another process is at it.
    #[error("dead letters in {0} are being retried or removed by another process")]
    Busy(std::path::PathBuf),
    /// A file could not be read or replaced.
    #[error("could not read or replace the dead letters")]
    Io(#[from] io::Error),
    /// ClickHouse could not be reached, or refused for another reason than the rows.
    #[error("ClickHouse did not take the rows")]
    ClickHouse(#[source] clickhouse::error::Error),
}

/// Inserts every dead letter of `dir` again. Rows that go in leave the folder; rows refused again
/// stay with the new reason.
pub async fn retry(dir: &Path, client: &clickhouse::Client) -> Result<RetryReport, RetryError> {
    let mut report = RetryReport::default();
    let paths = files(dir)?;
    if paths.is_empty() {
        return Ok(report);
    }
    let _lock = lock(dir)?;
    for path in paths {
        let letters = match read(&path) {
            Ok(letters) => letters,
            // Gone since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        let total = letters.len();
        let (left, outcome) = retry_letters(client, letters, &mut report).await;
        if left.is_empty() {
            fs::remove_file(&path)?;
            sync_parent(&path)?;
        } else if left.len() < total || outcome.is_ok() {
            write(&path, &left)?;
        }
        outcome?;
    }
    Ok(report)
}

/// One file's letters. Answers those that stay.
async fn retry_letters(
    client: &clickhouse::Client,
    letters: Vec<DeadLetter>,
    report: &mut RetryReport,
) -> (Vec<DeadLetter>, Result<(), RetryError>) {
    let (rows, mut left): (Vec<_>, Vec<_>) =
        letters.into_iter().partition(|letter| letter.row.is_some());
    report.unreadable += left.len();
    // The letters of a file are of one table: they are of one insert.
    match send(client, &rows).await {
        Ok(()) => {
            report.inserted += rows.len();
            return (left, Ok(()));
        }
        Err(error) if matches!(refusal::sort(&error), Refusal::Transient(_)) => {
            left.extend(rows);
            return (left, Err(RetryError::ClickHouse(error)));
        }
        Err(_) => {}
    }
    let mut rows = rows.into_iter();
    while let Some(mut letter) = rows.next() {
        let Err(error) = send(client, std::slice::from_ref(&letter)).await else {
            report.inserted += 1;
            continue;
        };
        match refusal::sort(&error) {
            Refusal::Content { code, reason } => {
                letter.code = code;
                letter.reason = cut_reason(&reason);
                report.refused += 1;
                left.push(letter);
            }
            Refusal::Transient(_) => {
                left.push(letter);
                left.extend(rows);
                return (left, Err(RetryError::ClickHouse(error)));
            }
        }
    }
    (left, Ok(()))
}

async fn send(
    client: &clickhouse::Client,
    letters: &[DeadLetter],
) -> Result<(), clickhouse::error::Error> {
    let table = letters.first().map_or_else(Table::default, |letter| letter.table);
    let mut body = Vec::new();
    for row in letters.iter().filter_map(|letter| letter.row.as_ref()) {
        body.extend_from_slice(row.get().as_bytes());
        body.push(b'\n');
    }
    if body.is_empty() {
        return Ok(());
    }
    insert::send(client, Statement::JsonEachRow(table), None, &[Bytes::from(body)]).await
}

pub(super) fn lock(dir: &Path) -> Result<File, RetryError> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(dir.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(RetryError::Busy(dir.to_owned())),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}
