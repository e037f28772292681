//! Files of data: written compressed with their checksum, and read again piece by piece. Both work on a thread of their
//! own, since disks and compression block.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    PIECE_BYTES, folder,
    manifest::FileEntry,
    progress::Progress,
    seal::{Key, SealingWriter},
};

/// Pieces between the reader of a store and the writer of its file.
const PIECES_WAITING: usize = 8;
/// Quick, and a third of the text.
const COMPRESSION_LEVEL: i32 = 3;

/// Where the files of a backup go.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    pub(crate) dir: &'a Path,
    /// Encrypts them.
    pub(crate) key: Option<Key>,
    pub(crate) files: BTreeMap<String, FileEntry>,
    pub(crate) progress: &'a Progress,
}

impl Output<'_> {
    pub(crate) fn create(&self, file: &str) -> anyhow::Result<FileWriter> {
        FileWriter::create(&self.dir.join(file), self.key.as_ref())
    }
}

/// Where the files of a backup are.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    pub(crate) dir: &'a Path,
    /// Decrypts them.
    pub(crate) key: Option<Key>,
    pub(crate) progress: &'a Progress,
}

impl Input<'_> {
    pub(crate) fn open(&self, file: &str) -> anyhow::Result<FileReader> {
        FileReader::open(&self.dir.join(file), self.key.as_ref())
    }
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct FileWriter {
    path: PathBuf,
    pieces: mpsc::Sender<Bytes>,
    writing: JoinHandle<io::Result<FileEntry>>,
}

impl FileWriter {
    /// Creates the file, encrypted if there is a key.
    fn create(path: &Path, key: Option<&Key>) -> anyhow::Result<Self> {
        let file = folder::create_file(path)?;
        let (pieces, mut waiting) = mpsc::channel::<Bytes>(PIECES_WAITING);
        let key = key.cloned();
        let writing = tokio::task::spawn_blocking(move || {
            let summed = Summed { file, hash: Sha256::new(), bytes: 0 };
            let sealed = match key {
                Some(key) => Sealed::Encrypted(Box::new(key.seal(summed)?)),
                None => Sealed::Plain(summed),
            };
            let mut encoder = zstd::Encoder::new(sealed, COMPRESSION_LEVEL)?;
            let mut content_bytes = 0;
            while let Some(piece) = waiting.blocking_recv() {
                content_bytes += piece.len() as u64;
                encoder.write_all(&piece)?;
            }
            let Summed { file, hash, bytes } = encoder.finish()?.finish()?;
            file.sync_all()?;
            Ok(FileEntry { bytes, sha256: hex::encode(hash.finalize()), content_bytes })
        });
        Ok(Self { path: path.to_owned(), pieces, writing })
    }

    /// Hands a piece on. A failure shows at the end, where its reason is known.
    pub(crate) async fn write(&self, piece: Bytes) -> bool {
        self.pieces.send(piece).await.is_ok()
    }

    /// Waits until the file is durable.
    pub(crate) async fn finish(self) -> anyhow::Result<FileEntry> {
        drop(self.pieces);
        let unwritable = || format!("cannot write {}", self.path.display());
        self.writing.await.with_context(unwritable)?.with_context(unwritable)
    }
}

/// What is written to a file, with its checksum.
struct Summed {
    file: File,
    hash: Sha256,
    bytes: u64,
}

impl Write for Summed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.file.write(buffer)?;
        self.hash.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What is compressed goes on encrypted or as it is.
enum Sealed {
    Plain(Summed),
    Encrypted(Box<SealingWriter<Summed>>),
}

impl Sealed {
    fn finish(self) -> io::Result<Summed> {
        match self {
            Self::Plain(summed) => Ok(summed),
            Self::Encrypted(writer) => writer.finish(),
        }
    }
}

impl Write for Sealed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(summed) => summed.write(buffer),
            Self::Encrypted(writer) => writer.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(summed) => summed.flush(),
            Self::Encrypted(writer) => writer.flush(),
        }
    }
}

/// A file that is being read.
#[derive(Debug)]
pub(crate) struct FileReader {
    path: PathBuf,
    pieces: mpsc::Receiver<io::Result<Bytes>>,
}

impl FileReader {
    /// Opens the file, which is encrypted if there is a key.
    fn open(path: &Path, key: Option<&Key>) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        let (send, pieces) = mpsc::channel(PIECES_WAITING);
        let key = key.cloned();
        tokio::task::spawn_blocking(move || {
            // A send fails only when the reader of the pieces has failed, and says why.
            let read = match key {
                Some(key) => key.open(file).and_then(|opened| read_pieces(opened, &send)),
                None => read_pieces(file, &send),
            };
            if let Err(error) = read {
                let _ = send.blocking_send(Err(error));
            }
        });
        Ok(Self { path: path.to_owned(), pieces })
    }

    /// The next piece; none at the end.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<Bytes>> {
        let piece = self.pieces.recv().await.transpose();
        piece.with_context(|| format!("cannot read {}", self.path.display()))
    }
}

fn read_pieces(file: impl Read, send: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<()> {
    let mut decoder = zstd::Decoder::new(file)?;
    loop {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        decoder.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
        if piece.is_empty() || send.blocking_send(Ok(piece.into())).is_err() {
            return Ok(());
        }
    }
}

/// Compares a file with its entry. Blocks.
pub(crate) fn verify(path: &Path, entry: &FileEntry, read: impl Fn(u64)) -> anyhow::Result<()> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (mut file, mut hash, mut bytes) = (BufReader::new(file), Sha256::new(), 0);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count =
            file.read(&mut piece).with_context(|| format!("cannot read {}", path.display()))?;
        if count == 0 {
            break;
        }
        hash.update(&piece[..count]);
        bytes += count as u64;
        read(count as u64);
    }
    ensure!(
        bytes == entry.bytes && hex::encode(hash.finalize()) == entry.sha256,
        "{} is damaged: it does not have the size and checksum in the manifest",
        path.display()
    );
    Ok(())
}
