//! What the files of a spool show, without changing them: for an operator, also beside the process that has the spool.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use super::{
    Disk,
    cursor::{self, CURSOR_BYTES},
    files::{Files as _, SpoolFile, open_to_read, read_around_bad_sectors},
    frame::{Mark, seed},
    scan::{Found, Scan},
    segment::{SegmentHeader, free_id, live_id, live_path},
};

/// The beginning of the name of a segment in which nothing could be read.
const DAMAGED_PREFIX: &str = "damaged-";

/// The state of a spool's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// Bytes of segments that hold frames; the newest is counted whole.
    pub used_bytes: u64,
    /// Bytes of segments that are ready to be used again.
    pub free_bytes: u64,
    /// Segments in which nothing could be read.
    pub damaged: usize,
    /// The consumers, by name.
    pub consumers: Vec<Backlog>,
}

/// What a consumer has not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlog {
    /// Name of the consumer.
    pub consumer: String,
    /// Receive time of its oldest frame, milliseconds since 1970; none if it has read everything.
    pub oldest_ms: Option<u64>,
}

/// Reads the files in `dir`; none if there is no spool. Its process may change them meanwhile: a file that disappears
/// is left out.
///
/// # Errors
/// If the folder or a file in it cannot be read.
pub fn survey(dir: &Path) -> io::Result<Option<Survey>> {
    let names = match Disk.list(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        names => names?,
    };
    let mut segments: Vec<u64> = names.iter().filter_map(|name| live_id(name)).collect();
    segments.sort_unstable();
    let mut found = Survey {
        used_bytes: bytes_of(dir, names.iter().filter(|name| live_id(name).is_some()))?,
        free_bytes: bytes_of(dir, names.iter().filter(|name| free_id(name).is_some()))?,
        damaged: names.iter().filter(|name| name.starts_with(DAMAGED_PREFIX)).count(),
        consumers: Vec::new(),
    };
    let Some(spool_id) = spool_id(dir, &segments)? else { return Ok(Some(found)) };
    let mut consumers: Vec<&str> = names.iter().filter_map(|name| cursor::name_of(name)).collect();
    consumers.sort_unstable();
    for consumer in consumers {
        let mark = read_mark(&dir.join(format!("{consumer}.cursor")), &spool_id)?;
        let oldest_ms = oldest_unread_ms(dir, &segments, seed(&spool_id), &mark)?;
        found.consumers.push(Backlog { consumer: consumer.to_owned(), oldest_ms });
    }
    Ok(Some(found))
}

fn bytes_of<'a>(dir: &Path, names: impl Iterator<Item = &'a String>) -> io::Result<u64> {
    let mut bytes = 0;
    for name in names {
        match std::fs::metadata(dir.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => bytes += found?.len(),
        }
    }
    Ok(bytes)
}

/// The file; none if it has just been renamed or removed.
fn open(path: &Path) -> io::Result<Option<Box<dyn SpoolFile>>> {
    match open_to_read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}

/// The id that the headers of segments name.
fn spool_id(dir: &Path, segments: &[u64]) -> io::Result<Option<[u8; 16]>> {
    for segment in segments {
        let Some(file) = open(&live_path(dir, *segment))? else { continue };
        if let Some(header) = SegmentHeader::read(file.as_ref())? {
            return Ok(Some(header.spool_id));
        }
    }
    Ok(None)
}

/// Where a consumer goes on; the beginning if its cursor cannot be read.
fn read_mark(path: &Path, spool_id: &[u8; 16]) -> io::Result<Mark> {
    let Some(file) = open(path)? else { return Ok(Mark::default()) };
    let mut bytes = [0; CURSOR_BYTES];
    let count = read_around_bad_sectors(file.as_ref(), &mut bytes, 0)?;
    let mark = if count == CURSOR_BYTES { cursor::decode(&bytes, spool_id) } else { None };
    Ok(mark.unwrap_or_default())
}

/// Receive time of the first frame from `mark` on.
fn oldest_unread_ms(
    dir: &Path,
    segments: &[u64],
    seed: u32,
    mark: &Mark,
) -> io::Result<Option<u64>> {
    for segment in segments.iter().filter(|segment| **segment >= mark.segment) {
        let Some(file) = open(&live_path(dir, *segment))? else { continue };
        let limit = file.length()?;
        let from = if *segment == mark.segment { mark.offset } else { 0 };
        let mut scan = Scan::new(file, *segment, seed, from);
        while let Found::Frame { header, .. } = scan.next(limit)? {
            if header.position >= mark.position.get() {
                return Ok(Some(header.at_ms));
            }
        }
    }
    Ok(None)
}
