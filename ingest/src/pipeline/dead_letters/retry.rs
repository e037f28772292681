//! Offers dead letters to ClickHouse again, after whatever made it refuse them was changed.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::Bytes;
use uuid::Uuid;

use super::{DeadLetter, cut_reason, files, read, row, sync_parent, write};
use crate::{
    columns::Table,
    model::calendar::partition_month,
    pipeline::{
        insert::{self, Statement},
        refusal::{self, Refusal},
    },
};

/// The file whose lock a retry holds from its mark of repeats to its last row.
const LOCK: &str = "lock";
/// Attempts to get the lock: [`is_retrying`] holds it for an instant.
const LOCK_ATTEMPTS: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

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
    Busy(PathBuf),
    /// A file could not be read or replaced.
    #[error("could not read or replace the dead letters")]
    Io(#[from] io::Error),
    /// ClickHouse could not be reached, or refused for another reason than the rows.
    #[error("ClickHouse did not take the rows")]
    ClickHouse(#[source] clickhouse::error::Error),
}

/// Inserts every dead letter of `dir` again: [`Retry`] of all workspaces.
#[cfg(test)]
pub(in crate::pipeline) async fn retry(
    dir: &Path,
    client: &clickhouse::Client,
) -> Result<RetryReport, RetryError> {
    Retry::begin(dir, None)?.run(client).await
}

/// A retry of the dead letters that there were when it began. No other can begin until it ends.
#[derive(Debug)]
pub struct Retry {
    files: Vec<PathBuf>,
    /// Letters of others stay as they are.
    workspace: Option<Uuid>,
    /// None where there is no letter.
    _lock: Option<File>,
}

impl Retry {
    /// Begins a retry of the letters of one workspace, or of all letters.
    ///
    /// # Errors
    /// When another retry, or a removal, is under way, or the folder cannot be read.
    pub fn begin(dir: &Path, workspace: Option<Uuid>) -> Result<Self, RetryError> {
        if files(dir)?.is_empty() {
            return Ok(Self { files: Vec::new(), workspace, _lock: None });
        }
        let lock = lock(dir)?;
        Ok(Self { files: files(dir)?, workspace, _lock: Some(lock) })
    }

    /// How many letters it would offer.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn count(&self) -> io::Result<usize> {
        self.files.iter().map(|path| Ok(self.letters(path)?.0.len())).sum()
    }

    /// Months (`toYYYYMM(day)`) of the events among the letters, ascending.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn months(&self) -> io::Result<Vec<u32>> {
        let mut months = BTreeSet::new();
        for path in &self.files {
            let (letters, _) = self.letters(path)?;
            let rows = letters.iter().filter(|letter| letter.table == Table::Events);
            for row in rows.filter_map(|letter| letter.row.as_ref()) {
                months.insert(partition_month(row::day_of(row)?));
            }
        }
        Ok(months.into_iter().collect())
    }

    /// Inserts the letters. Rows that go in leave the folder; rows refused again stay with the new reason.
    ///
    /// # Errors
    /// When a file cannot be read or replaced, or ClickHouse is away. What was done by then is done.
    pub async fn run(self, client: &clickhouse::Client) -> Result<RetryReport, RetryError> {
        let mut report = RetryReport::default();
        for path in &self.files {
            let (letters, others) = self.letters(path)?;
            if letters.is_empty() {
                continue;
            }
            let total = letters.len();
            let (mut left, outcome) = retry_letters(client, letters, &mut report).await;
            let is_changed = left.len() < total || outcome.is_ok();
            left.extend(others);
            if left.is_empty() {
                fs::remove_file(path)?;
                sync_parent(path)?;
            } else if is_changed {
                write(path, &left)?;
            }
            outcome?;
        }
        Ok(report)
    }

    /// The letters of a file that are retried, and the others.
    fn letters(&self, path: &Path) -> io::Result<(Vec<DeadLetter>, Vec<DeadLetter>)> {
        let is_retried = |letter: &DeadLetter| {
            self.workspace.is_none_or(|workspace| letter.workspace_id == Some(workspace))
        };
        Ok(read(path)?.into_iter().partition(is_retried))
    }
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

/// Whether a retry or a removal is under way, by this or another process: a retry stores rows that may repeat others.
///
/// # Errors
/// If the folder cannot be read.
pub fn is_retrying(dir: &Path) -> io::Result<bool> {
    let file = match File::open(dir.join(LOCK)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

pub(super) fn lock(dir: &Path) -> Result<File, RetryError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(dir.join(LOCK))?;
    for attempt in 1..=LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if attempt < LOCK_ATTEMPTS => {
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => break,
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
    Err(RetryError::Busy(dir.to_owned()))
}
