//! The file of a partition: fingerprints in the order in which their keys landed.
//!
//! ```text
//! file     "MLRKEYS2" · id of the file u64 · record, and so on
//! record   fingerprints u32 · CRC32C u32 of the number and the fingerprints · fingerprint u64, and so on
//! ```
//!
//! Integers are little-endian. A record is synced before the spool forgets the rows of its keys. A file that does not
//! consist of whole records is not believed at all, even if only a crash has cut off its end: it can be made anew.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Read as _, Write as _},
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::Path,
};

const MAGIC: &[u8; 8] = b"MLRKEYS2";
/// Bytes before the first record.
const FILE_HEADER_BYTES: usize = 16;
const RECORD_HEADER_BYTES: usize = 8;
/// Most fingerprints of a record.
const RECORD_KEYS_MAX: usize = 1 << 17;

/// An open file, and how far it is known to be good.
#[derive(Debug)]
pub(crate) struct KeyFile {
    file: File,
    state: FileState,
}

/// Which file it is, and how far it is known to be good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    /// Drawn when the file is made: a file that took its place is another.
    pub id: u64,
    /// Bytes of the header and all whole records.
    pub length: u64,
}

/// What was read of a file.
#[derive(Debug)]
pub(crate) struct Checked {
    pub state: FileState,
    pub keys: u64,
}

impl KeyFile {
    /// Makes an empty file.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let id: u64 = rand::random();
        file.write_all_at(&[*MAGIC, id.to_le_bytes()].concat(), 0)?;
        Ok(Self { file, state: FileState { id, length: FILE_HEADER_BYTES as u64 } })
    }

    /// Opens a file that was read as far as `checked` says, for appends behind it.
    pub(crate) fn open(path: &Path, checked: &Checked) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).open(path)?;
        Ok(Self { file, state: checked.state })
    }

    pub(crate) fn state(&self) -> FileState {
        self.state
    }

    /// Appends fingerprints. After an error the same may be appended again.
    pub(crate) fn append(&mut self, fingerprints: &[u64]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for piece in fingerprints.chunks(RECORD_KEYS_MAX) {
            encode(piece, &mut bytes);
        }
        self.file.write_all_at(&bytes, self.state.length)?;
        self.state.length += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn encode(fingerprints: &[u64], bytes: &mut Vec<u8>) {
    let start = bytes.len();
    let count = u32::try_from(fingerprints.len()).expect("a record has few fingerprints");
    bytes.extend_from_slice(&count.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend(fingerprints.iter().flat_map(|fingerprint| fingerprint.to_le_bytes()));
    let crc = checksum(count, &bytes[start + RECORD_HEADER_BYTES..]);
    bytes[start + 4..start + RECORD_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
}

fn checksum(count: u32, fingerprints: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&count.to_le_bytes()), fingerprints)
}

/// Reads the fingerprints of a file, of its first `bytes` where they are named.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if it is damaged.
pub(crate) fn read(
    path: &Path,
    bytes: Option<u64>,
    mut each: impl FnMut(u64),
) -> io::Result<Checked> {
    let file = File::open(path)?;
    let file_bytes = match bytes {
        Some(bytes) => bytes,
        None => file.metadata()?.len(),
    };
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut header = [0; FILE_HEADER_BYTES];
    reader.read_exact(&mut header).map_err(|_| damaged(0))?;
    let (magic, id) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(damaged(0));
    }
    let id = u64::from_le_bytes(id.try_into().expect("eight bytes"));
    let state = FileState { id, length: FILE_HEADER_BYTES as u64 };
    let mut checked = Checked { state, keys: 0 };
    let mut record = Vec::new();
    loop {
        let left = file_bytes - checked.state.length;
        if left == 0 {
            return Ok(checked);
        }
        let mut header = [0; RECORD_HEADER_BYTES];
        reader.read_exact(&mut header).map_err(|_| damaged(checked.state.length))?;
        let (count, crc) = header.split_at(4);
        let count = u32::from_le_bytes(count.try_into().expect("four bytes"));
        let crc = u32::from_le_bytes(crc.try_into().expect("four bytes"));
        let bytes = RECORD_HEADER_BYTES as u64 + u64::from(count) * 8;
        if bytes > left {
            return Err(damaged(checked.state.length));
        }
        record.resize(count as usize * 8, 0);
        reader.read_exact(&mut record)?;
        if count == 0 || checksum(count, &record) != crc {
            return Err(damaged(checked.state.length));
        }
        for fingerprint in record.chunks_exact(8) {
            each(u64::from_le_bytes(fingerprint.try_into().expect("eight bytes")));
        }
        checked.state.length += bytes;
        checked.keys += u64::from(count);
    }
}

fn damaged(offset: u64) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged at byte {offset}"))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Writes a small file beside, syncs it and gives it its name.
pub(crate) fn replace(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let fresh = dir.join(format!("{name}.new"));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, dir.join(name))?;
    sync_dir(dir)
}

/// Reads noted lengths of files, by partition; none where there is no note, or it is damaged.
pub(crate) fn read_lengths(path: &Path) -> io::Result<BTreeMap<u32, FileState>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let line = |line: &str| {
        let mut numbers = line.split(' ');
        let partition = numbers.next()?.parse().ok()?;
        let (id, length) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        Some((partition, FileState { id, length }))
    };
    Ok(text.lines().filter_map(line).collect())
}

/// Notes files, a line each: the partition, the id of its file, and the bytes of it.
pub(crate) fn write_lengths(path: &Path, lengths: &BTreeMap<u32, FileState>) -> io::Result<()> {
    let lines = lengths
        .iter()
        .map(|(partition, FileState { id, length })| format!("{partition} {id} {length}\n"));
    let fresh = path.with_extension("new");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    file.write_all(lines.collect::<String>().as_bytes())?;
    fs::rename(&fresh, path)
}
