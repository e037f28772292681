//! The keys of one partition.

use std::{fs, io, path::Path};

use crate::{
    Need, Seen,
    file::{FileState, KeyFile},
    filter::{Filter, KEYS_MIN},
    jobs::{Filled, Loaded, path},
};

/// Offers without a filter after which one that was dropped for want of memory is made again; twice as many each time
/// it was in vain.
const OFFERS_TO_RELOAD: u64 = 20_000;

/// What is known of a partition's file.
#[derive(Debug)]
enum Disk {
    /// There is none that holds every key.
    Missing,
    /// There is one, which was not read yet.
    Unverified,
    /// It was read, and is open for appends.
    Open(KeyFile),
    /// It became unreadable while it was in use. The next start makes it anew.
    Lost,
}

#[derive(Debug)]
pub(crate) struct Partition {
    disk: Disk,
    filter: Option<Filter>,
    /// The file as it was noted last; a shorter one, or another, may lack keys.
    noted: Option<FileState>,
    /// Rows of the table before this process added any: the file holds as many keys, or lacks some.
    rows_at_start: u64,
    /// Fingerprints that are not in the file yet.
    pending: Vec<u64>,
    /// Fingerprints recorded since a job began: what it reads does not hold them all.
    since_job: Option<Vec<u64>>,
    /// When it was offered a key last, in offers of all partitions.
    used_at: u64,
    /// Offers since it has no filter.
    unfiltered: u64,
    /// Offers without a filter that make one worth it.
    reload_after: u64,
}

impl Partition {
    /// The partition as the folder holds it.
    pub(crate) fn find(
        dir: &Path,
        number: u32,
        rows_at_start: u64,
        noted: Option<FileState>,
    ) -> Self {
        let disk = if path(dir, number).exists() { Disk::Unverified } else { Disk::Missing };
        Self {
            disk,
            filter: None,
            noted,
            rows_at_start,
            pending: Vec::new(),
            since_job: None,
            used_at: 0,
            unfiltered: 0,
            reload_after: 0,
        }
    }

    pub(crate) fn offer(&mut self, fingerprint: u64, now: u64) -> Seen {
        self.used_at = now;
        let Some(filter) = &mut self.filter else {
            self.unfiltered += 1;
            return Seen::Maybe;
        };
        if !filter.insert(fingerprint) {
            return Seen::Maybe;
        }
        self.remember(fingerprint);
        Seen::New
    }

    /// As [`Self::offer`] for several keys; none when the filter has to grow for them.
    pub(crate) fn offer_all(&mut self, fingerprints: &[u64], now: u64) -> Option<Vec<Seen>> {
        self.used_at = now;
        let filter = self.filter.as_mut().filter(|it| it.room() > fingerprints.len())?;
        let are_new = filter.insert_all(fingerprints);
        let mut seen = Vec::with_capacity(are_new.len());
        for (fingerprint, is_new) in fingerprints.iter().zip(are_new) {
            if is_new {
                self.remember(*fingerprint);
            }
            seen.push(if is_new { Seen::New } else { Seen::Maybe });
        }
        Some(seen)
    }

    /// Remembers a key, also in a filter that was made since the key was offered.
    pub(crate) fn record(&mut self, fingerprint: u64) {
        if let Some(filter) = &mut self.filter {
            filter.insert(fingerprint);
        }
        self.remember(fingerprint);
    }

    fn remember(&mut self, fingerprint: u64) {
        self.pending.push(fingerprint);
        if let Some(since_job) = &mut self.since_job {
            since_job.push(fingerprint);
        }
    }

    /// Appends what is pending. True if nothing has to be, or nothing can be before a fill.
    pub(crate) fn sync(&mut self) -> io::Result<bool> {
        if self.pending.is_empty() {
            return Ok(true);
        }
        match &mut self.disk {
            Disk::Missing => return Ok(true),
            Disk::Unverified => return Ok(false),
            Disk::Open(file) => {
                file.append(&self.pending)?;
                file.sync()?;
            }
            Disk::Lost => {}
        }
        self.pending.clear();
        Ok(true)
    }

    /// Its file, once that is known to hold every key.
    pub(crate) fn file_state(&self) -> Option<FileState> {
        match &self.disk {
            Disk::Open(file) => Some(file.state()),
            Disk::Missing | Disk::Unverified | Disk::Lost => None,
        }
    }

    /// Keys it has, about; of a young one those that its filter is made for.
    pub(crate) fn keys(&self) -> u64 {
        let in_file = self.file_state().map_or(0, |state| state.length / 8);
        self.rows_at_start.max(in_file).max(KEYS_MIN as u64)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.since_job.is_some()
    }

    pub(crate) fn used_at(&self) -> u64 {
        self.used_at
    }

    /// Bytes of its filter.
    pub(crate) fn filter_bytes(&self) -> Option<usize> {
        self.filter.as_ref().map(Filter::bytes)
    }

    /// Bytes that its filter is about to grow by.
    pub(crate) fn growth_bytes(&self) -> usize {
        self.filter.as_ref().map_or(0, Filter::growth_bytes)
    }

    pub(crate) fn drop_filter(&mut self) {
        self.filter = None;
        self.unfiltered = 0;
        self.reload_after = (self.reload_after * 2).max(OFFERS_TO_RELOAD);
    }

    pub(crate) fn need(&self, number: u32) -> Option<Need> {
        match (&self.disk, &self.filter) {
            (Disk::Missing, _) => Some(Need::Fill(number)),
            (Disk::Unverified, _) => Some(Need::Load(number)),
            (Disk::Open(_), None) if self.unfiltered >= self.reload_after => {
                Some(Need::Load(number))
            }
            (Disk::Open(_), Some(filter)) if filter.is_fragmented() => Some(Need::Load(number)),
            _ => None,
        }
    }

    /// Notes that a job reads the table or the file as it is now; answers how much of the file is to be read.
    pub(crate) fn begin_job(&mut self) -> Option<u64> {
        self.since_job = Some(self.pending.clone());
        match &self.disk {
            Disk::Open(file) => Some(file.state().length),
            _ => None,
        }
    }

    pub(crate) fn end_fill(&mut self, filled: Option<Filled>) -> io::Result<()> {
        self.since_job = None;
        let Some(mut filled) = filled else { return Ok(()) };
        filled.file.append(&self.pending)?;
        self.disk = Disk::Open(filled.publish()?);
        self.pending.clear();
        self.filter = None;
        self.reload_after = 0;
        Ok(())
    }

    pub(crate) fn end_load(
        &mut self,
        dir: &Path,
        number: u32,
        loaded: io::Result<Loaded>,
    ) -> io::Result<()> {
        let since_job = self.since_job.take().unwrap_or_default();
        let Loaded { checked, mut filter } = match loaded {
            Ok(loaded) => loaded,
            Err(error) => {
                tracing::warn!(%error, partition = number, "a file of stored keys is unusable, making it anew");
                return self.discard(&path(dir, number));
            }
        };
        let (keys, rows) = (checked.keys, self.rows_at_start);
        let is_noted = self.noted.is_some_and(|noted| {
            noted.id == checked.state.id && noted.length <= checked.state.length
        });
        let lacks_keys = keys < rows || !is_noted;
        if matches!(self.disk, Disk::Unverified) && lacks_keys {
            tracing::warn!(
                keys,
                rows,
                partition = number,
                "a file of stored keys lacks some, making it anew"
            );
            return self.discard(&path(dir, number));
        }
        if let Some(filter) = &mut filter {
            for fingerprint in &since_job {
                filter.insert(*fingerprint);
            }
        }
        if !matches!(self.disk, Disk::Open(_)) {
            self.disk = Disk::Open(KeyFile::open(&path(dir, number), &checked)?);
        }
        if filter.is_none() {
            self.drop_filter();
        }
        self.filter = filter;
        Ok(())
    }

    /// Removes the file. Before it was read, everything recorded since the start is pending, and a fill makes it
    /// complete; later, keys may have been synced to it whose rows a fill would not find yet.
    fn discard(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)?;
        self.filter = None;
        self.disk = match self.disk {
            Disk::Open(_) | Disk::Lost => Disk::Lost,
            Disk::Unverified | Disk::Missing => Disk::Missing,
        };
        Ok(())
    }
}
