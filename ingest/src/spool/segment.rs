//! One segment file: its name, its header, and how it comes into being and is used again.
//!
//! ```text
//! offset bytes
//!      0     8  "MLRSPOL1"
//!      8    16  spool id (random, the same in every segment)
//!     24     8  segment id: ascending, never used twice, also the file's name
//!     32     8  base: position of the first frame
//!     40     8  events in all frames before that one
//!     48     4  CRC32C over bytes 0..48
//!     52    12  zero
//!     64     …  frames (see `frame`)
//! ```
//!
//! `<id, 20 digits>.seg` is live, `free-<id>.seg` waits to be used again. A file gets its live name
//! only after its header is durable; a freed file gives its live name up before its header changes.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    files::{Files, SpoolFile, read_around_bad_sectors},
    frame::{TERMINATOR, array},
};

/// Bytes of a segment before its first frame.
pub(super) const SEGMENT_HEADER_BYTES: usize = 64;
const MAGIC: &[u8; 8] = b"MLRSPOL1";

const _: () = assert!(SEGMENT_HEADER_BYTES > 48 + size_of::<u32>());

/// What a segment's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub spool_id: [u8; 16],
    pub segment: u64,
    pub base: u64,
    pub base_events: u64,
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        bytes[0..8].copy_from_slice(MAGIC);
        bytes[8..24].copy_from_slice(&self.spool_id);
        bytes[24..32].copy_from_slice(&self.segment.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.base.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.base_events.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..48]);
        bytes[48..52].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The header, when magic and checksum hold.
    pub(super) fn decode(bytes: &[u8; SEGMENT_HEADER_BYTES]) -> Option<Self> {
        let crc = u32::from_le_bytes(array(bytes, 48));
        if &bytes[..8] != MAGIC || crc32c::crc32c(&bytes[..48]) != crc {
            return None;
        }
        Some(Self {
            spool_id: array(bytes, 8),
            segment: u64::from_le_bytes(array(bytes, 24)),
            base: u64::from_le_bytes(array(bytes, 32)),
            base_events: u64::from_le_bytes(array(bytes, 40)),
        })
    }

    pub(super) fn read(file: &dyn SpoolFile) -> io::Result<Option<Self>> {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        let count = read_around_bad_sectors(file, &mut bytes, 0)?;
        Ok(if count == bytes.len() { Self::decode(&bytes) } else { None })
    }
}

/// What names of segments begin with in which nothing could be read.
pub(super) const DAMAGED_PREFIX: &str = "damaged-";

pub(super) fn live_path(dir: &Path, segment: u64) -> PathBuf {
    dir.join(format!("{segment:020}.seg"))
}

pub(super) fn free_path(dir: &Path, segment: u64) -> PathBuf {
    dir.join(format!("free-{segment:020}.seg"))
}

/// The segment id in a live name.
pub(super) fn live_id(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".seg")?;
    if digits.len() == 20 { digits.parse().ok() } else { None }
}

/// The segment id in a free name.
pub(super) fn free_id(name: &str) -> Option<u64> {
    live_id(name.strip_prefix("free-")?)
}

/// Why a segment could not be made.
#[derive(Debug)]
pub(super) struct NotMade {
    pub error: io::Error,
    /// Whether the next start may find it under its live name all the same. It then takes what follows the
    /// segment's base from there alone: nothing more may be written to the segment before.
    pub may_be_found: bool,
}

/// Makes a segment ready for appends under its live name: space reserved, header durable, first
/// frame place terminated. `recycled` is the id of a free file to use again. What fails leaves no file
/// behind where that can be helped: partly reserved space is of no use, and the next attempt starts clean.
pub(super) fn create(
    files: &dyn Files,
    dir: &Path,
    header: &SegmentHeader,
    segment_bytes: u64,
    recycled: Option<u64>,
) -> Result<Box<dyn SpoolFile>, NotMade> {
    let start = free_path(dir, recycled.unwrap_or(header.segment));
    let live = live_path(dir, header.segment);
    let discard = |path: &Path, error: io::Error, may_be_found: bool| {
        if let Err(error) = files.remove(path) {
            tracing::warn!(path = %path.display(), %error, "could not remove a half-made spool segment");
        }
        NotMade { error, may_be_found }
    };
    let file = prepare(files, &start, header, segment_bytes)
        .map_err(|error| discard(&start, error, false))?;
    files.rename(&start, &live).map_err(|error| discard(&start, error, true))?;
    files.sync_dir(dir).map_err(|error| discard(&live, error, true))?;
    Ok(file)
}

fn prepare(
    files: &dyn Files,
    path: &Path,
    header: &SegmentHeader,
    segment_bytes: u64,
) -> io::Result<Box<dyn SpoolFile>> {
    let file = files.open(path)?;
    if file.length()? != segment_bytes {
        file.allocate(segment_bytes)?;
    }
    let mut start = header.encode().to_vec();
    start.extend_from_slice(&TERMINATOR);
    file.write_at(&start, 0)?;
    file.sync()?;
    Ok(file)
}
