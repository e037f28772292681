//! What was sent and what was acknowledged, in a file that survives the death of either side.
//!
//! Text, one record a line, each written with a single `write` before the load goes on: what is in the page cache
//! survives a killed process. A record without its newline is a torn one and counts as not written.
//!
//! ```text
//! millrace-journal 1
//! s range lt-4f2a- 1000 500        sent: 500 ids from lt-4f2a-000000001000
//! a range lt-4f2a- 1000 500        acknowledged: the same
//! s ids ["or-536365-1","or-536365-2"]
//! a ids ["or-536365-1"]
//! r ids ["or-536365-2"]            refused for good
//! ```

mod ledger;
#[cfg(test)]
mod tests;

use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result, ensure};

pub use ledger::Ledger;

pub(crate) use ledger::Known;

use crate::source::{Batch, BatchIds};

const FIRST_LINE: &str = "millrace-journal 1";

/// What a record says of its ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// They are about to be sent.
    Sent,
    /// The server acknowledged them.
    Acknowledged,
    /// The server refused them for good.
    Refused,
}

impl Mark {
    fn letter(self) -> char {
        match self {
            Self::Sent => 's',
            Self::Acknowledged => 'a',
            Self::Refused => 'r',
        }
    }
}

/// An open journal; many connections write to one.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

impl Journal {
    /// Opens or makes the file; an existing journal is continued, after its torn last record if it has one.
    ///
    /// # Errors
    /// The file cannot be opened, or is something else.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .with_context(|| format!("cannot open the journal {}", path.display()))?;
        let whole = whole_records_bytes(&mut file)?;
        if whole == 0 {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{FIRST_LINE}")?;
        } else {
            let mut first = vec![0; FIRST_LINE.len()];
            file.rewind()?;
            let read = file.read_exact(&mut first);
            ensure!(
                read.is_ok() && first == FIRST_LINE.as_bytes(),
                "{} is not a journal of this program",
                path.display()
            );
            file.set_len(whole)?;
            file.seek(SeekFrom::End(0))?;
        }
        Ok(Self { path: path.to_owned(), file: Mutex::new(file) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records all events of a batch.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(&self, mark: Mark, batch: &Batch) -> Result<()> {
        let mut line = Vec::with_capacity(64);
        match &batch.ids {
            BatchIds::Range { prefix, numbers } => {
                let count = numbers.end - numbers.start;
                writeln!(line, "{} range {prefix} {} {count}", mark.letter(), numbers.start)?;
            }
            BatchIds::Spans(spans) => {
                line.reserve(spans.len() * 24);
                write!(line, "{} ids [", mark.letter())?;
                for (index, span) in spans.iter().enumerate() {
                    line.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
                    line.extend_from_slice(&batch.body[span.start as usize..span.end as usize]);
                    line.push(b'"');
                }
                line.extend_from_slice(b"]\n");
            }
        }
        self.append(&line)
    }

    /// Records single ids.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_ids(&self, mark: Mark, ids: &[String]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let line = format!("{} ids {}\n", mark.letter(), serde_json::to_string(ids)?);
        self.append(line.as_bytes())
    }

    fn append(&self, line: &[u8]) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line)
            .with_context(|| format!("cannot write the journal {}", self.path.display()))
    }
}

/// Length of the file up to and with its last newline.
fn whole_records_bytes(file: &mut File) -> Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut end = file.metadata()?.len();
    let mut chunk = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(STEP);
        chunk.resize(usize::try_from(end - start)?, 0);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut chunk)?;
        if let Some(at) = chunk.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
