//! The file in which a consumer remembers how far it is.
//!
//! ```text
//! <name>.cursor, offset bytes
//!      0     8  "MLRCURS1"
//!      8    16  spool id
//!     24     8  position of the next frame
//!     32     8  events before it
//!     40     8  receive time of the frame before it, milliseconds since 1970
//!     48     8  segment it is in, as a hint
//!     56     8  offset there, as a hint
//!     64     4  CRC32C over bytes 0..64
//! ```
//!
//! A consumer may also leave a note of the positions at which it cuts its batches (`<name>.cuts`), so
//! that after a crash it cuts at the same places:
//!
//! ```text
//!      0     8  "MLRCUTS1"
//!      8    16  spool id
//!     24     8  position before which a batch ended, and so on, CUTS_MAX times, ascending, 0 = none
//!      …     4  CRC32C over everything before
//! ```
//!
//! Replaced as a whole: written beside under `<name>.cursor.new`, synced, renamed, directory synced.
//! A crash leaves the old one or the new one. The note is not synced: a crash of the process leaves it
//! whole, and after a power cut it may be missing, which costs nothing but the same cuts.

use std::{io, path::Path};

use super::{
    files::{Files, read_around_bad_sectors, replace_file},
    frame::{Mark, Position, array},
};

pub(super) const CURSOR_BYTES: usize = 68;
const MAGIC: &[u8; 8] = b"MLRCURS1";

/// The consumer's name in a cursor's file name.
pub(super) fn name_of(file_name: &str) -> Option<&str> {
    file_name.strip_suffix(".cursor").filter(|name| is_name(name))
}

/// Whether `name` can name a consumer: it becomes part of a file name.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// What the cursor file says; `None` when it is missing, damaged or of another spool.
pub(super) fn read(
    files: &dyn Files,
    dir: &Path,
    spool_id: &[u8; 16],
    name: &str,
) -> io::Result<Option<Mark>> {
    let file = files.open(&dir.join(format!("{name}.cursor")))?;
    let mut bytes = [0; CURSOR_BYTES];
    let count = read_around_bad_sectors(file.as_ref(), &mut bytes, 0)?;
    Ok(if count < CURSOR_BYTES { None } else { decode(&bytes, spool_id) })
}

/// The place in the bytes of a cursor file; `None` when they are damaged or of another spool.
pub(super) fn decode(bytes: &[u8; CURSOR_BYTES], spool_id: &[u8; 16]) -> Option<Mark> {
    let crc = u32::from_le_bytes(array(bytes, 64));
    if &bytes[..8] != MAGIC || &bytes[8..24] != spool_id || crc32c::crc32c(&bytes[..64]) != crc {
        return None;
    }
    let u64_at = |at: usize| u64::from_le_bytes(array(bytes, at));
    Some(Mark {
        position: Position(u64_at(24)),
        events: u64_at(32),
        at_ms: u64_at(40),
        segment: u64_at(48),
        offset: u64_at(56),
    })
}

/// Replaces the cursor file; durable when this returns.
pub(super) fn replace(
    files: &dyn Files,
    dir: &Path,
    spool_id: &[u8; 16],
    name: &str,
    mark: &Mark,
) -> io::Result<()> {
    let mut bytes = [0; CURSOR_BYTES];
    bytes[0..8].copy_from_slice(MAGIC);
    bytes[8..24].copy_from_slice(spool_id);
    bytes[24..32].copy_from_slice(&mark.position.0.to_le_bytes());
    bytes[32..40].copy_from_slice(&mark.events.to_le_bytes());
    bytes[40..48].copy_from_slice(&mark.at_ms.to_le_bytes());
    bytes[48..56].copy_from_slice(&mark.segment.to_le_bytes());
    bytes[56..64].copy_from_slice(&mark.offset.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..64]);
    bytes[64..68].copy_from_slice(&crc.to_le_bytes());

    replace_file(files, dir, &format!("{name}.cursor"), &bytes)
}

/// Cuts remembered at once.
pub(super) const CUTS_MAX: usize = 4;
const CUTS_MAGIC: &[u8; 8] = b"MLRCUTS1";
const CUTS_BYTES: usize = 24 + 8 * CUTS_MAX + 4;

/// The remembered cuts, ascending; none when the note is missing or damaged.
pub(super) fn read_cuts(
    files: &dyn Files,
    dir: &Path,
    spool_id: &[u8; 16],
    name: &str,
) -> io::Result<Vec<Position>> {
    let file = files.open(&dir.join(format!("{name}.cuts")))?;
    let mut bytes = [0; CUTS_BYTES];
    let count = read_around_bad_sectors(file.as_ref(), &mut bytes, 0)?;
    let crc = u32::from_le_bytes(array(&bytes, CUTS_BYTES - 4));
    if count < CUTS_BYTES
        || &bytes[..8] != CUTS_MAGIC
        || &bytes[8..24] != spool_id
        || crc32c::crc32c(&bytes[..CUTS_BYTES - 4]) != crc
    {
        return Ok(Vec::new());
    }
    let cuts = (0..CUTS_MAX).map(|index| u64::from_le_bytes(array(&bytes, 24 + 8 * index)));
    Ok(cuts.filter(|cut| *cut > 0).map(Position).collect())
}

/// Replaces the note of cuts; the last [`CUTS_MAX`] of `cuts` are kept.
pub(super) fn replace_cuts(
    files: &dyn Files,
    dir: &Path,
    spool_id: &[u8; 16],
    name: &str,
    cuts: &[Position],
) -> io::Result<()> {
    let mut bytes = [0; CUTS_BYTES];
    bytes[0..8].copy_from_slice(CUTS_MAGIC);
    bytes[8..24].copy_from_slice(spool_id);
    let kept = &cuts[cuts.len().saturating_sub(CUTS_MAX)..];
    for (index, cut) in kept.iter().enumerate() {
        let at = 24 + 8 * index;
        bytes[at..at + 8].copy_from_slice(&cut.0.to_le_bytes());
    }
    let crc = crc32c::crc32c(&bytes[..CUTS_BYTES - 4]);
    bytes[CUTS_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
    let fresh = dir.join(format!("{name}.cuts.new"));
    let file = files.open(&fresh)?;
    file.truncate(CUTS_BYTES as u64)?;
    file.write_at(&bytes, 0)?;
    files.rename(&fresh, &dir.join(format!("{name}.cuts")))
}
