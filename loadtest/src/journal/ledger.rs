//! A journal read back: what is known of every id in it.

use std::{
    collections::HashMap,
    fs::File,
    hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use super::{FIRST_LINE, Mark};
use crate::source::generated_id;

/// Takes a 128-bit digest for the hash it already is.
#[derive(Debug, Default)]
struct DigestHasher(u64);

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
