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

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher},
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result, bail, ensure};

use crate::source::{Batch, BatchIds, generated_id};

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

    /// Where it is.
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

/// Takes a 128-bit digest for the hash it already is.
#[derive(Debug, Default)]
pub struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 ^= u64::from_ne_bytes(word);
        }
    }

    fn write_u128(&mut self, value: u128) {
        self.0 = u64::try_from(value & u128::from(u64::MAX)).unwrap_or(0);
    }
}

/// Two SipHashes make collisions among 10⁸ ids a matter of 10⁻²³, and keep ten million ids in some hundred MiB.
fn digest(id: &[u8]) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        hasher.write(id);
        u128::from(hasher.finish())
    };
    (half(1) << 64) | half(2)
}

/// What is known of one id.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    pub(crate) acknowledged: bool,
    pub(crate) refused: bool,
    pub(crate) stored: u8,
}

/// A journal read back: the state of every id in it.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    entries: HashMap<u128, Known, BuildHasherDefault<DigestHasher>>,
    torn: bool,
}

impl Ledger {
    /// Reads a journal; its torn last record, if any, is left out.
    ///
    /// # Errors
    /// The file cannot be read, or a whole line of it is not a record.
    pub fn read(path: &Path) -> Result<Self> {
        let mut ledger = Self { path: path.to_owned(), entries: HashMap::default(), torn: false };
        let torn = for_each_id(path, |mark, id| {
            let known = ledger.entries.entry(digest(id.as_bytes())).or_default();
            known.acknowledged |= mark == Mark::Acknowledged;
            known.refused |= mark == Mark::Refused;
        })?;
        ledger.torn = torn;
        Ok(ledger)
    }

    /// Number of acknowledged ids.
    pub fn acknowledged(&self) -> u64 {
        self.entries.values().filter(|known| known.acknowledged).count() as u64
    }

    /// Whether the last record was torn.
    pub fn torn(&self) -> bool {
        self.torn
    }

    pub(crate) fn known(&self) -> impl Iterator<Item = &Known> {
        self.entries.values()
    }

    pub(crate) fn forget_stored(&mut self) {
        self.entries.values_mut().for_each(|known| known.stored = 0);
    }

    /// Counts one stored event; false when the journal knows no such id.
    pub(crate) fn count_stored(&mut self, id: &[u8]) -> bool {
        let Some(known) = self.entries.get_mut(&digest(id)) else { return false };
        known.stored = known.stored.saturating_add(1);
        true
    }

    /// Names up to `limit` ids whose state satisfies `wanted`, in journal order, by reading the journal again.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub(crate) fn name(&self, limit: usize, wanted: impl Fn(Known) -> bool) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for_each_id(&self.path, |mark, id| {
            let fits = |id: &str| {
                self.entries.get(&digest(id.as_bytes())).is_some_and(|known| wanted(*known))
            };
            // Every id has one `Sent` record, unless a caller of the library journals acknowledgements only.
            if names.len() < limit
                && mark != Mark::Refused
                && fits(id)
                && !names.iter().any(|name| name == id)
            {
                names.push(id.to_owned());
            }
        })?;
        Ok(names)
    }

    /// Up to `count` acknowledged ids, spread over the journal.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub(crate) fn sample(&self, count: u64) -> Result<Vec<String>> {
        let stride = (self.acknowledged() / count.max(1)).max(1);
        let (mut seen, mut names) = (0, Vec::new());
        for_each_id(&self.path, |mark, id| {
            if mark == Mark::Acknowledged {
                if seen % stride == stride / 2 && (names.len() as u64) < count {
                    names.push(id.to_owned());
                }
                seen += 1;
            }
        })?;
        Ok(names)
    }
}

/// Calls `visit` for every id of every whole record; the answer is whether the last record was torn.
fn for_each_id(path: &Path, mut visit: impl FnMut(Mark, &str)) -> Result<bool> {
    let file =
        File::open(path).with_context(|| format!("cannot read the journal {}", path.display()))?;
    let mut lines = BufReader::with_capacity(1 << 20, file);
    let mut line = String::new();
    for number in 1_u64.. {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        let Some(record) = line.strip_suffix('\n') else { return Ok(true) };
        if number == 1 {
            ensure!(record == FIRST_LINE, "{} is not a journal of this program", path.display());
        } else {
            read_record(record, &mut visit)
                .with_context(|| format!("line {number} of the journal"))?;
        }
    }
    Ok(false)
}

fn read_record(record: &str, visit: &mut impl FnMut(Mark, &str)) -> Result<()> {
    let mut words = record.splitn(3, ' ');
    let mark = match words.next() {
        Some("s") => Mark::Sent,
        Some("a") => Mark::Acknowledged,
        Some("r") => Mark::Refused,
        _ => bail!("unknown mark"),
    };
    match (words.next(), words.next()) {
        (Some("ids"), Some(list)) => {
            let ids: Vec<String> = serde_json::from_str(list)?;
            for id in &ids {
                visit(mark, id);
            }
        }
        (Some("range"), Some(rest)) => {
            let parts: Vec<&str> = rest.split(' ').collect();
            let [prefix, first, count] = parts[..] else { bail!("a range has three parts") };
            let (first, count): (u64, u64) = (first.parse()?, count.parse()?);
            let end = first.checked_add(count).context("the range has no end")?;
            for number in first..end {
                visit(mark, &generated_id(prefix, number));
            }
        }
        _ => bail!("unknown record"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::{EventSource, Generator, GeneratorOptions, Replay};

    fn batch(number: u64) -> Batch {
        let options =
            GeneratorOptions { batch: 3, events: Some(30), ..GeneratorOptions::default() };
        Generator::new(options).unwrap().batch(number).unwrap()
    }

    #[test]
    fn what_was_acknowledged_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::open(&path).unwrap();
        let replay = Replay::read(
            "{\"clientEventId\":\"x \\\"1\"}\n{\"clientEventId\":\"y\"}\n".as_bytes(),
            2,
            1,
        )
        .unwrap();
        journal.record(Mark::Sent, &batch(0)).unwrap();
        journal.record(Mark::Acknowledged, &batch(0)).unwrap();
        journal.record(Mark::Sent, &batch(1)).unwrap();
        journal.record(Mark::Sent, &replay.batch(0).unwrap()).unwrap();
        journal.record_ids(Mark::Acknowledged, &["x \"1".to_owned()]).unwrap();
        journal.record_ids(Mark::Refused, &["y".to_owned()]).unwrap();

        let mut ledger = Ledger::read(&path).unwrap();
        assert_eq!(ledger.acknowledged(), 4);
        assert_eq!(ledger.known().count(), 8);
        assert_eq!(ledger.known().filter(|known| known.refused).count(), 1);
        assert!(ledger.count_stored(b"x \"1"));
        assert!(!ledger.count_stored(b"z"));
        let missing = ledger.name(10, |known| known.acknowledged && known.stored == 0).unwrap();
        assert_eq!(missing, ["lt-run-000000000000", "lt-run-000000000001", "lt-run-000000000002"]);
        assert_eq!(ledger.sample(2).unwrap().len(), 2);
    }

    #[test]
    fn a_foreign_file_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        std::fs::write(&path, "dear diary\n").unwrap();
        assert!(Journal::open(&path).is_err());
        assert!(Ledger::read(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"dear diary\n");
    }

    #[test]
    fn a_broken_line_in_the_middle_is_an_error_and_not_a_shorter_journal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        std::fs::write(&path, format!("{FIRST_LINE}\na range p- 0\na range p- 0 3\n")).unwrap();
        let error = Ledger::read(&path).unwrap_err();
        assert!(format!("{error:#}").contains("line 2"), "{error:#}");
    }

    proptest! {
        /// A loader killed in mid-write must neither invent an acknowledgement nor lose an earlier one.
        #[test]
        fn a_journal_torn_anywhere_keeps_its_whole_records_and_can_be_continued(cut in 0_usize..120) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("journal");
            let journal = Journal::open(&path).unwrap();
            for number in 0..3 {
                journal.record(Mark::Acknowledged, &batch(number)).unwrap();
            }
            drop(journal);
            let whole = std::fs::read(&path).unwrap();
            let cut = cut.min(whole.len());
            std::fs::write(&path, &whole[..cut]).unwrap();
            let kept = whole[..cut].split(|byte| *byte == b'\n').count().saturating_sub(2) as u64;

            let journal = Journal::open(&path).unwrap();
            journal.record(Mark::Acknowledged, &batch(9)).unwrap();
            let ledger = Ledger::read(&path).unwrap();
            prop_assert!(!ledger.torn());
            prop_assert_eq!(ledger.acknowledged(), 3 * kept + 3);
        }
    }
}
