//! Which keys have landed in a table: filters that distinguish new keys from those that may be stored.
//!
//! ```text
//! key ─▶ fingerprint ─▶ filter (memory) ─▶ New, or Maybe
//!                   └─▶ file, synced before the spool forgets the row
//! ```
//!
//! Keys are kept by partition (a month of a table, say): in a file, as 64-bit fingerprints, and in memory, as a
//! [`filter`] made from the file. Callers choose keys, so fingerprints are SipHash with a key drawn when the folder is
//! made: a caller cannot choose two keys with one fingerprint. That would be no harm either: [`Seen::Maybe`] only means
//! that the table has to be asked.
//!
//! # What holds
//!
//! 1. [`Seen::New`] is answered only for a key that was never offered in the partition: not since the start, and not
//!    before it, as far as the keys were synced or had landed.
//! 2. A partition without a file, or with a damaged one, answers [`Seen::Maybe`] for every key, until it was filled
//!    with the keys of the table ([`LandedKeys::begin_fill`]). So does one whose filter is not in memory.
//! 3. Nothing here waits for the disk but [`LandedKeys::sync`]: reading and filling are jobs for other threads.

mod file;
mod filter;
mod jobs;
mod partition;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder},
    hash::{Hash, Hasher as _},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
};

use siphasher::sip::SipHasher13;

use file::FileState;
use partition::Partition;

pub use jobs::{Fill, Filled, Load, Loaded};

/// The file of the hash key.
const KEY_FILE: &str = "key";
const KEY_MAGIC: &[u8; 8] = b"MLRHKEY1";
const KEY_BYTES: usize = 16;
/// Offers of all partitions after which one that got none of them is not in use.
const OFFERS_WHILE_IN_USE: u64 = 1_000_000;
/// The name of a partition's file ends so.
const SUFFIX: &str = ".keys";
/// And while it is filled.
const FILLING_SUFFIX: &str = ".filling";

/// Where keys are kept, and how much memory filters may take.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder; made with mode 0700.
    pub dir: PathBuf,
    /// A file in another folder that holds the id and the length of each partition's file. It detects a folder that was
    /// restored from an older copy.
    pub lengths_file: PathBuf,
    /// Bytes of all filters together. Partitions used least lately lose theirs first.
    pub memory_max_bytes: usize,
}

/// What is known about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It was never offered before.
    New,
    /// It may have been: the table has to be asked.
    Maybe,
}

/// What a partition needs, see [`LandedKeys::needs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The keys of the table: [`LandedKeys::begin_fill`].
    Fill(u32),
    /// Its file read: [`LandedKeys::begin_load`].
    Load(u32),
}

/// Figures of all partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Bytes that all filters take.
    pub memory_bytes: usize,
    /// Partitions that were offered keys and have no filter.
    pub without_filter: usize,
}

/// Makes fingerprints of keys, with the hash key of a folder. Copies make the same.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprints(SipHasher13);

impl Fingerprints {
    /// The fingerprint of a key.
    pub fn of(self, key: impl Hash) -> u64 {
        let mut hasher = self.0;
        key.hash(&mut hasher);
        hasher.finish()
    }
}

/// The keys of a table, by partition.
#[derive(Debug)]
pub struct LandedKeys {
    options: Options,
    fingerprints: Fingerprints,
    partitions: BTreeMap<u32, Partition>,
    /// Each partition's file, as noted last.
    lengths: BTreeMap<u32, FileState>,
    /// Counts calls of [`Self::offer`], to find partitions used least lately.
    offers: u64,
}

impl LandedKeys {
    /// Opens the folder. Files made with a hash key that is gone are removed.
    ///
    /// # Errors
    /// If the folder cannot be made, read or written.
    pub fn open(options: Options) -> io::Result<Self> {
        let dir = &options.dir;
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let key = read_key(dir)?;
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(FILLING_SUFFIX) || name.ends_with(SUFFIX) && key.is_none() {
                fs::remove_file(&path)?;
            }
        }
        let key = match key {
            Some(key) => key,
            None => make_key(dir)?,
        };
        let fingerprints = Fingerprints(SipHasher13::new_with_key(&key));
        let lengths = file::read_lengths(&options.lengths_file)?;
        Ok(Self { options, fingerprints, partitions: BTreeMap::new(), lengths, offers: 0 })
    }

    /// What makes fingerprints of keys.
    pub fn fingerprints(&self) -> Fingerprints {
        self.fingerprints
    }

    /// Whether [`Self::begin`] was called for a partition.
    pub fn knows(&self, partition: u32) -> bool {
        self.partitions.contains_key(&partition)
    }

    /// Begins to keep the keys of a partition of which the table has so many rows, none of them added since the start.
    /// A file with fewer keys is not believed, nor one that was not noted.
    pub fn begin(&mut self, partition: u32, rows: u64) {
        let (dir, noted) = (&self.options.dir, self.lengths.get(&partition).copied());
        let find = || Partition::find(dir, partition, rows, noted);
        self.partitions.entry(partition).or_insert_with(find);
    }

    /// Presents a key that is about to land, and remembers it if it is new. Answers [`Seen::Maybe`] for a partition
    /// that is not known.
    pub fn offer(&mut self, partition: u32, fingerprint: u64) -> Seen {
        self.offers += 1;
        let Some(keys) = self.partitions.get_mut(&partition) else { return Seen::Maybe };
        let seen = keys.offer(fingerprint, self.offers);
        if keys.growth_bytes() > 0 {
            self.make_room(partition);
        }
        seen
    }

    /// As [`Self::offer`] for some keys of a partition, in order. Quicker, since look-ups of many overlap in memory.
    pub fn offer_all(&mut self, partition: u32, fingerprints: &[u64]) -> Vec<Seen> {
        let Some(keys) = self.partitions.get_mut(&partition) else {
            return vec![Seen::Maybe; fingerprints.len()];
        };
        if let Some(seen) = keys.offer_all(fingerprints, self.offers) {
            self.offers += fingerprints.len() as u64;
            return seen;
        }
        fingerprints.iter().map(|fingerprint| self.offer(partition, *fingerprint)).collect()
    }

    /// Remembers a key that was answered [`Seen::Maybe`] and turned out to be new.
    pub fn record(&mut self, partition: u32, fingerprint: u64) {
        if let Some(partition) = self.partitions.get_mut(&partition) {
            partition.record(fingerprint);
        }
    }

    /// Makes the keys offered so far durable, in partitions whose keys are known. False while a partition's file was
    /// not read yet: call it again.
    ///
    /// # Errors
    /// If a file cannot be written or synced; nothing is forgotten.
    pub fn sync(&mut self) -> io::Result<bool> {
        let mut is_all = true;
        for partition in self.partitions.values_mut() {
            is_all &= partition.sync()?;
        }
        self.note_lengths()?;
        Ok(is_all)
    }

    /// Not synced: after a power cut it may name shorter files, which is no harm, or older ones, which are filled anew.
    fn note_lengths(&mut self) -> io::Result<()> {
        let mut lengths = self.lengths.clone();
        for (number, partition) in &self.partitions {
            lengths.extend(partition.file_state().map(|state| (*number, state)));
        }
        if lengths != self.lengths {
            file::write_lengths(&self.options.lengths_file, &lengths)?;
            self.lengths = lengths;
        }
        Ok(())
    }

    /// What a partition needs next; none while a job is under way.
    pub fn needs(&self) -> Option<Need> {
        if self.partitions.values().any(Partition::is_busy) {
            return None;
        }
        let mut needs =
            self.partitions.iter().filter_map(|(number, partition)| partition.need(*number));
        needs.next()
    }

    /// Begins to fill a partition with the keys of the table; the table must be read after this.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn begin_fill(&mut self, partition: u32) -> io::Result<Fill> {
        let fill = Fill::begin(&self.options.dir, partition)?;
        if let Some(keys) = self.partitions.get_mut(&partition) {
            keys.begin_job();
        }
        Ok(fill)
    }

    /// Takes a finished fill, or gives up one that failed: it is needed again.
    ///
    /// # Errors
    /// If the file cannot be written or synced; the fill is needed again.
    pub fn end_fill(&mut self, partition: u32, filled: Option<Filled>) -> io::Result<()> {
        if let Some(keys) = self.partitions.get_mut(&partition) {
            keys.end_fill(filled)?;
        }
        self.note_lengths()
    }

    /// Begins to read a partition's file into a filter.
    pub fn begin_load(&mut self, partition: u32) -> Load {
        let path = jobs::path(&self.options.dir, partition);
        let bytes = self.partitions.get_mut(&partition).and_then(Partition::begin_job);
        let memory_max_bytes = self.options.memory_max_bytes;
        Load { path, bytes, memory_max_bytes, share_bytes: self.share_bytes(partition) }
    }

    /// Part of the memory for a partition's filter, by its keys among those of all partitions in use.
    fn share_bytes(&self, partition: u32) -> usize {
        let in_use_since = self.offers.saturating_sub(OFFERS_WHILE_IN_USE);
        let in_use = self
            .partitions
            .iter()
            .filter(|(number, it)| **number == partition || it.used_at() >= in_use_since);
        let all: u128 = in_use.map(|(_, it)| u128::from(it.keys())).sum();
        let own = self.partitions.get(&partition).map_or(0, |it| u128::from(it.keys()));
        let share = self.options.memory_max_bytes as u128 * own / all.max(1);
        usize::try_from(share).unwrap_or(usize::MAX)
    }

    /// Takes what a load has read. If it failed, or lacks keys, the file is removed, and a fill is needed.
    ///
    /// # Errors
    /// If a file cannot be opened or removed.
    pub fn end_load(&mut self, partition: u32, loaded: io::Result<Loaded>) -> io::Result<()> {
        if let Some(keys) = self.partitions.get_mut(&partition) {
            keys.end_load(&self.options.dir, partition, loaded)?;
        }
        self.make_room(partition);
        Ok(())
    }

    /// Memory and missing filters, for metrics.
    pub fn figures(&self) -> Figures {
        let filters = self.partitions.values().map(Partition::filter_bytes);
        Figures {
            memory_bytes: filters.clone().flatten().sum(),
            without_filter: filters.filter(Option::is_none).count(),
        }
    }

    /// Drops filters until all fit the memory, with what this partition's is about to grow by: of others that were not
    /// used lately, and at last its own.
    fn make_room(&mut self, kept: u32) {
        loop {
            let used: usize = self.partitions.values().filter_map(Partition::filter_bytes).sum();
            let growth = self.partitions.get(&kept).map_or(0, Partition::growth_bytes);
            if used + growth <= self.options.memory_max_bytes {
                return;
            }
            let cold_before = self.offers.saturating_sub(OFFERS_WHILE_IN_USE);
            let is_cold = |number: u32, partition: &Partition| {
                number != kept
                    && partition.filter_bytes().is_some()
                    && partition.used_at() < cold_before
            };
            let cold = self.partitions.iter().filter(|(number, it)| is_cold(**number, it));
            let coldest =
                cold.min_by_key(|(_, it)| it.used_at()).map_or(kept, |(number, _)| *number);
            let Some(partition) = self.partitions.get_mut(&coldest) else { return };
            partition.drop_filter();
            if coldest == kept {
                return;
            }
        }
    }
}

/// The hash key; none if there is none, or it is damaged.
fn read_key(dir: &std::path::Path) -> io::Result<Option<[u8; KEY_BYTES]>> {
    let bytes = match fs::read(dir.join(KEY_FILE)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some((content, crc)) = bytes.split_last_chunk::<4>() else { return Ok(None) };
    let key = content.strip_prefix(KEY_MAGIC).and_then(|key| key.try_into().ok());
    let is_whole = crc32c::crc32c(content) == u32::from_le_bytes(*crc);
    Ok(key.filter(|_| is_whole))
}

fn make_key(dir: &std::path::Path) -> io::Result<[u8; KEY_BYTES]> {
    let key: [u8; KEY_BYTES] = rand::random();
    let mut bytes = [KEY_MAGIC.as_slice(), &key].concat();
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    file::replace(dir, KEY_FILE, &bytes)?;
    Ok(key)
}
