//! The manifest: what a backup holds, and by which program it was made.

use std::{collections::BTreeMap, fs, io::ErrorKind, path::Path};

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::folder;

/// The format of the folder.
const FORMAT: u32 = 1;
const MANIFEST_FILE: &str = "manifest.json";
/// The checksum of the manifest, as `sha256sum -c` reads it.
const CHECKSUM_FILE: &str = "manifest.json.sha256";
/// Largest manifest that is read.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) format: u32,
    /// The release that made it.
    pub(crate) millrace: String,
    /// When the stores were first read, and when all was copied.
    pub(crate) started_at: String,
    pub(crate) finished_at: String,
    /// Whether the files of data are encrypted.
    pub(crate) encrypted: bool,
    /// Whether the secrets of the data directory are in it.
    pub(crate) secrets: bool,
    pub(crate) schema: Schema,
    pub(crate) postgres: Vec<Table>,
    /// Values of PostgreSQL's sequences.
    pub(crate) sequences: BTreeMap<String, i64>,
    pub(crate) clickhouse: Vec<Table>,
    pub(crate) spool: Vec<NamedFile>,
    pub(crate) dead_letters: Vec<NamedFile>,
    pub(crate) secret_files: Vec<NamedFile>,
    /// The files of data, by their names in the backup.
    pub(crate) files: BTreeMap<String, FileEntry>,
}

/// The schemas of both stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Schema {
    pub(crate) postgres: String,
    pub(crate) clickhouse: String,
}

/// The rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: u64,
    /// The name among the files.
    pub(crate) file: String,
}

/// A file of the data directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NamedFile {
    pub(crate) name: String,
    /// The name among the files.
    pub(crate) file: String,
}

/// A file of data as it is in the backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FileEntry {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    /// Bytes before compression and encryption.
    pub(crate) content_bytes: u64,
}

/// Only the format, which every release reads.
#[derive(Debug, Deserialize)]
struct Head {
    format: u32,
    millrace: String,
}

impl Manifest {
    pub(crate) const FORMAT: u32 = FORMAT;

    /// Writes the manifest with its checksum, and returns that; both are durable once their folder is.
    pub(crate) fn write(&self, dir: &Path) -> anyhow::Result<String> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        folder::write_file(&dir.join(MANIFEST_FILE), &text)?;
        let sum = hex::encode(Sha256::digest(&text));
        let line = format!("{sum}  {MANIFEST_FILE}\n");
        folder::write_file(&dir.join(CHECKSUM_FILE), line.as_bytes())?;
        Ok(sum)
    }

    /// Reads and checks the manifest of the backup in `dir`; returns its checksum, too.
    pub(crate) fn read(dir: &Path) -> anyhow::Result<(Self, String)> {
        let path = dir.join(MANIFEST_FILE);
        let found = match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("{} is no backup: it has no {MANIFEST_FILE}", dir.display())
            }
            found => found.with_context(|| format!("cannot read {}", path.display()))?,
        };
        ensure!(found.len() <= MANIFEST_BYTES_MAX, "{} is too large to be one", path.display());
        let read =
            |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        let (text, checksum) = (read(&path)?, read(&dir.join(CHECKSUM_FILE))?);
        let noted = checksum.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        let sum = hex::encode(Sha256::digest(&text));
        ensure!(
            noted == sum.as_bytes(),
            "{} is damaged: it does not have the checksum in {CHECKSUM_FILE}",
            path.display()
        );
        let head: Head = serde_json::from_slice(&text)
            .with_context(|| format!("{} is no manifest", path.display()))?;
        ensure!(
            head.format == FORMAT,
            "the backup has format {} and was made by millrace {}; this is millrace {}, which reads format {FORMAT}",
            head.format,
            head.millrace,
            env!("CARGO_PKG_VERSION")
        );
        let manifest: Self = serde_json::from_slice(&text)
            .with_context(|| format!("{} is no manifest of format {FORMAT}", path.display()))?;
        manifest.check_names()?;
        Ok((manifest, sum))
    }

    /// Names become paths: none leads out of its folder.
    fn check_names(&self) -> anyhow::Result<()> {
        let of_files = self.spool.iter().chain(&self.dead_letters).chain(&self.secret_files);
        let plain = of_files.map(|file| &file.name);
        let nested = self.files.keys();
        for name in plain.clone().chain(nested) {
            let is_safe = !name.is_empty()
                && name.split('/').all(|part| {
                    !part.is_empty() && part != "." && part != ".." && !part.contains('\0')
                });
            ensure!(is_safe, "the manifest names a file {name:?}, which leads out of the backup");
        }
        for name in plain {
            ensure!(!name.contains('/'), "the manifest names a file {name:?} in a folder");
        }
        let tables = self.postgres.iter().chain(&self.clickhouse).map(|table| &table.file);
        let others = self.spool.iter().chain(&self.dead_letters).chain(&self.secret_files);
        for file in tables.chain(others.map(|file| &file.file)) {
            ensure!(self.files.contains_key(file), "the manifest lacks the file {file:?}");
        }
        Ok(())
    }

    /// Refuses a backup of another schema than this program's.
    pub(crate) fn check_schema(&self, own: &Schema) -> anyhow::Result<()> {
        ensure!(
            self.schema == *own,
            "the backup was made by millrace {} with the schemas {} and {}, and this is millrace {} with {} and {}: \
             restore it with the release that made it, then start this one on the data directory",
            self.millrace,
            self.schema.postgres,
            self.schema.clickhouse,
            env!("CARGO_PKG_VERSION"),
            own.postgres,
            own.clickhouse
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let entry = FileEntry { bytes: 1, sha256: "00".to_owned(), content_bytes: 2 };
        Manifest {
            format: FORMAT,
            millrace: "0.1.0".to_owned(),
            started_at: String::new(),
            finished_at: String::new(),
            encrypted: false,
            secrets: false,
            schema: Schema { postgres: "69-ab".to_owned(), clickhouse: "17-cd".to_owned() },
            postgres: Vec::new(),
            sequences: BTreeMap::new(),
            clickhouse: Vec::new(),
            spool: vec![NamedFile { name: "1.seg".to_owned(), file: "spool/1.seg.zst".to_owned() }],
            dead_letters: Vec::new(),
            secret_files: Vec::new(),
            files: BTreeMap::from([("spool/1.seg.zst".to_owned(), entry)]),
        }
    }

    #[test]
    fn flipped_bits_are_found() {
        let dir = tempfile::tempdir().unwrap();
        manifest().write(dir.path()).unwrap();
        assert_eq!(Manifest::read(dir.path()).unwrap().0, manifest());
        for file in [MANIFEST_FILE, CHECKSUM_FILE] {
            let path = dir.path().join(file);
            let whole = fs::read(&path).unwrap();
            // The name behind the checksum is for people.
            let end = if file == MANIFEST_FILE { whole.len() } else { 64 };
            for bit in (0..end * 8).step_by(7) {
                let mut flipped = whole.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                fs::write(&path, flipped).unwrap();
                let error = Manifest::read(dir.path()).unwrap_err().to_string();
                assert!(error.contains("is damaged"), "{file} {bit}: {error}");
            }
            fs::write(&path, whole).unwrap();
        }
    }

    #[test]
    fn names_stay_inside() {
        for name in ["../1.seg", "/etc/passwd", "a//b", "", "."] {
            let mut it = manifest();
            it.spool[0].name = name.to_owned();
            assert!(it.check_names().is_err(), "{name:?}");
        }
        let mut it = manifest();
        it.spool[0].file = "spool/2.seg.zst".to_owned();
        assert!(it.check_names().is_err(), "a file that is not listed");
    }

    #[test]
    fn another_format_is_refused_with_both_releases() {
        let dir = tempfile::tempdir().unwrap();
        let newer = Manifest { format: 2, millrace: "9.0.0".to_owned(), ..manifest() };
        newer.write(dir.path()).unwrap();
        let error = Manifest::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("9.0.0") && error.contains("format 2"), "{error}");
    }
}
