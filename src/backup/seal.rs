//! Encryption of a backup with a passphrase.
//!
//! A random key encrypts all files. The passphrase opens one small file, `key.json`, which holds that key and the
//! checksum of the manifest: so the slow derivation (PBKDF2-HMAC-SHA256) is done once, and a manifest that was changed
//! together with its checksum is found.
//!
//! A file is a random salt and chunks of 64 KiB, each encrypted by ChaCha20-Poly1305 with a key that HMAC-SHA256 derives
//! from the salt. The nonce is the number of the chunk, and whether it is the last: chunks cannot be exchanged, left out
//! or cut off.

use std::{
    fs,
    io::{self, Read, Write},
    num::NonZeroU32,
    path::Path,
};

use anyhow::{Context as _, ensure};
use aws_lc_rs::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hmac, pbkdf2, rand,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use crate::folder;

/// The file that the passphrase opens.
const KEY_FILE: &str = "key.json";
const KEY_BYTES: usize = 32;
const SALT_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
/// Bytes of a chunk before it is encrypted.
const CHUNK_BYTES: usize = 64 << 10;
/// Rounds of the derivation: about half a second.
const ROUNDS: u32 = 1_000_000;
/// The most rounds that are done for a file.
const ROUNDS_MAX: u32 = 20_000_000;
/// Fewest bytes of a passphrase.
const PASSPHRASE_BYTES_MIN: usize = 12;

/// The key of a backup.
#[derive(Clone)]
pub(crate) struct Key([u8; KEY_BYTES]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// The content of the file that the passphrase opens.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct KeyFile {
    derivation: String,
    rounds: NonZeroU32,
    salt: String,
    /// The key, encrypted; the checksum of the manifest is authenticated with it.
    sealed_key: String,
    manifest_sha256: String,
}

const DERIVATION: &str = "PBKDF2-HMAC-SHA256, ChaCha20-Poly1305";

impl Key {
    pub(crate) fn generate() -> anyhow::Result<Self> {
        Ok(Self(random()?))
    }

    /// Encrypts what is written.
    pub(crate) fn seal<W: Write>(&self, mut output: W) -> io::Result<SealingWriter<W>> {
        let salt: [u8; SALT_BYTES] = random().map_err(io::Error::other)?;
        output.write_all(&salt)?;
        let chunks = Chunks { key: self.of_file(&salt), next: 0 };
        Ok(SealingWriter { output, chunks, waiting: Vec::with_capacity(CHUNK_BYTES + TAG_BYTES) })
    }

    /// Decrypts what is read.
    pub(crate) fn open<R: Read>(&self, mut input: R) -> io::Result<OpeningReader<R>> {
        let mut salt = [0; SALT_BYTES];
        input.read_exact(&mut salt)?;
        let chunks = Chunks { key: self.of_file(&salt), next: 0 };
        Ok(OpeningReader {
            input,
            chunks,
            sealed: Vec::new(),
            plain: Vec::new(),
            at: 0,
            is_over: false,
        })
    }

    fn of_file(&self, salt: &[u8; SALT_BYTES]) -> LessSafeKey {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.0), salt);
        cipher(tag.as_ref())
    }

    /// Writes the key, opened by the passphrase, with the checksum of the manifest. Blocks for half a second.
    pub(crate) fn write(
        &self,
        dir: &Path,
        passphrase: &SecretString,
        manifest_sha256: &str,
    ) -> anyhow::Result<()> {
        let salt: [u8; SALT_BYTES] = random()?;
        let rounds = NonZeroU32::new(ROUNDS).context("at least one round")?;
        let mut sealed = self.0.to_vec();
        // The key is derived for this file alone, so its one nonce may be any.
        derived(passphrase, &salt, rounds)
            .seal_in_place_append_tag(nonce(0, true), Aad::from(manifest_sha256), &mut sealed)
            .map_err(|_| anyhow::anyhow!("the key cannot be encrypted"))?;
        let file = KeyFile {
            derivation: DERIVATION.to_owned(),
            rounds,
            salt: hex::encode(salt),
            sealed_key: hex::encode(sealed),
            manifest_sha256: manifest_sha256.to_owned(),
        };
        let mut text = serde_json::to_vec_pretty(&file)?;
        text.push(b'\n');
        folder::write_file(&dir.join(KEY_FILE), &text)
    }

    /// Opens the key of the backup in `dir`, whose manifest has this checksum. Blocks for half a second.
    pub(crate) fn read(
        dir: &Path,
        passphrase: &SecretString,
        manifest_sha256: &str,
    ) -> anyhow::Result<Self> {
        let path = dir.join(KEY_FILE);
        let damaged = || format!("{} is damaged", path.display());
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let file: KeyFile = serde_json::from_slice(&text).with_context(damaged)?;
        ensure!(file.derivation == DERIVATION && file.rounds.get() <= ROUNDS_MAX, damaged());
        ensure!(
            file.manifest_sha256 == manifest_sha256,
            "the manifest is not the one that was encrypted: it, or {KEY_FILE}, is of another backup"
        );
        let salt = hex::decode(&file.salt).with_context(damaged)?;
        let mut sealed = hex::decode(&file.sealed_key).with_context(damaged)?;
        let opened = derived(passphrase, &salt, file.rounds).open_in_place(
            nonce(0, true),
            Aad::from(manifest_sha256),
            &mut sealed,
        );
        let key = opened.map_err(|_| {
            anyhow::anyhow!("the passphrase does not open the backup, or {KEY_FILE} is damaged")
        })?;
        Ok(Self((&*key).try_into().with_context(damaged)?))
    }
}

/// Refuses a passphrase that is quickly guessed.
pub(crate) fn check_passphrase(passphrase: &SecretString) -> anyhow::Result<()> {
    ensure!(
        passphrase.expose_secret().len() >= PASSPHRASE_BYTES_MIN,
        "the passphrase must be at least {PASSPHRASE_BYTES_MIN} bytes long"
    );
    Ok(())
}

fn random<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).map_err(|_| anyhow::anyhow!("the system gives no random bytes"))?;
    Ok(bytes)
}

fn derived(passphrase: &SecretString, salt: &[u8], rounds: NonZeroU32) -> LessSafeKey {
    let mut key = [0; KEY_BYTES];
    let secret = passphrase.expose_secret().as_bytes();
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, secret, &mut key);
    cipher(&key)
}

fn cipher(key: &[u8]) -> LessSafeKey {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key);
    LessSafeKey::new(key.expect("a derived key has the cipher's length"))
}

fn nonce(number: u64, is_last: bool) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes[8] = u8::from(is_last);
    Nonce::assume_unique_for_key(bytes)
}

/// Encrypts and decrypts the chunks of a file, in order.
struct Chunks {
    key: LessSafeKey,
    next: u64,
}

impl Chunks {
    fn seal(&mut self, chunk: &mut Vec<u8>, is_last: bool) -> io::Result<()> {
        let nonce = nonce(self.next, is_last);
        self.next += 1;
        self.key
            .seal_in_place_append_tag(nonce, Aad::empty(), chunk)
            .map_err(|_| io::Error::other("a chunk cannot be encrypted"))
    }

    fn open<'c>(&mut self, chunk: &'c mut [u8], is_last: bool) -> io::Result<&'c mut [u8]> {
        let nonce = nonce(self.next, is_last);
        self.next += 1;
        self.key.open_in_place(nonce, Aad::empty(), chunk).map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "it is damaged, or encrypted with another key",
            )
        })
    }
}

/// Encrypts what is written; must be finished.
pub(crate) struct SealingWriter<W> {
    output: W,
    chunks: Chunks,
    waiting: Vec<u8>,
}

impl<W: Write> SealingWriter<W> {
    /// Writes the last chunk.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.chunks.seal(&mut self.waiting, true)?;
        self.output.write_all(&self.waiting)?;
        Ok(self.output)
    }
}

impl<W: Write> Write for SealingWriter<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        // A full chunk waits until it is known not to be the last.
        if self.waiting.len() == CHUNK_BYTES {
            self.chunks.seal(&mut self.waiting, false)?;
            self.output.write_all(&self.waiting)?;
            self.waiting.clear();
        }
        let count = buffer.len().min(CHUNK_BYTES - self.waiting.len());
        self.waiting.extend_from_slice(&buffer[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Decrypts what is read.
pub(crate) struct OpeningReader<R> {
    input: R,
    chunks: Chunks,
    /// What was read and not decrypted: a chunk, and the beginning of the next.
    sealed: Vec<u8>,
    plain: Vec<u8>,
    /// How much of it was handed on.
    at: usize,
    is_over: bool,
}

impl<R: Read> OpeningReader<R> {
    fn next_chunk(&mut self) -> io::Result<()> {
        const SEALED_BYTES: usize = CHUNK_BYTES + TAG_BYTES;
        // A byte more: then it is not the last.
        let wanted = SEALED_BYTES + 1 - self.sealed.len();
        self.input.by_ref().take(wanted as u64).read_to_end(&mut self.sealed)?;
        self.is_over = self.sealed.len() <= SEALED_BYTES;
        let rest = if self.is_over { Vec::new() } else { self.sealed.split_off(SEALED_BYTES) };
        let plain = self.chunks.open(&mut self.sealed, self.is_over)?;
        self.plain.clear();
        self.plain.extend_from_slice(plain);
        (self.at, self.sealed) = (0, rest);
        Ok(())
    }
}

impl<R: Read> Read for OpeningReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.plain.len() && !self.is_over {
            self.next_chunk()?;
        }
        let count = buffer.len().min(self.plain.len() - self.at);
        buffer[..count].copy_from_slice(&self.plain[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(key: &Key, plain: &[u8]) -> Vec<u8> {
        let mut writer = key.seal(Vec::new()).unwrap();
        writer.write_all(plain).unwrap();
        writer.finish().unwrap()
    }

    fn opened(key: &Key, sealed: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        key.open(sealed)?.read_to_end(&mut plain)?;
        Ok(plain)
    }

    #[test]
    fn a_key_opens_with_its_passphrase_and_manifest_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (key, passphrase) = (Key::generate().unwrap(), SecretString::from("correct horse"));
        key.write(dir.path(), &passphrase, "ab").unwrap();
        assert_eq!(Key::read(dir.path(), &passphrase, "ab").unwrap().0, key.0);
        let refusal = |passphrase: &str, sum: &str| {
            Key::read(dir.path(), &passphrase.into(), sum).unwrap_err().to_string()
        };
        assert!(refusal("wrong horse!!", "ab").contains("does not open"));
        assert!(refusal("correct horse", "cd").contains("not the one that was encrypted"));
        // A changed checksum in the file does not help: it is authenticated.
        let path = dir.path().join(KEY_FILE);
        let text = fs::read_to_string(&path).unwrap().replace("\"ab\"", "\"cd\"");
        fs::write(&path, text).unwrap();
        assert!(refusal("correct horse", "cd").contains("does not open"));
        assert!(check_passphrase(&"short".into()).is_err());
    }

    #[test]
    fn every_length_comes_back() {
        let key = Key::generate().unwrap();
        for length in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES] {
            let plain: Vec<u8> = (0..=250).cycle().take(length).collect();
            let sealed = sealed(&key, &plain);
            assert_eq!(opened(&key, &sealed).unwrap(), plain, "{length}");
            assert!(opened(&Key::generate().unwrap(), &sealed).is_err());
            assert!(opened(&key, &sealed[..sealed.len() - 1]).is_err(), "{length}, cut");
        }
    }

    #[test]
    fn chunks_cannot_be_changed_exchanged_left_out_or_cut_off() {
        let key = Key::generate().unwrap();
        let sealed = sealed(&key, &vec![7; 3 * CHUNK_BYTES]);
        let chunk = CHUNK_BYTES + TAG_BYTES;
        let parts: Vec<&[u8]> = sealed[SALT_BYTES..].chunks(chunk).collect();
        assert_eq!(parts.len(), 3);
        let of = |order: &[usize]| {
            let mut file = sealed[..SALT_BYTES].to_vec();
            for at in order {
                file.extend_from_slice(parts[*at]);
            }
            file
        };
        assert!(opened(&key, &of(&[0, 1, 2])).is_ok());
        for order in [&[1, 0, 2][..], &[0, 2], &[0, 1], &[0, 1, 2, 2], &[2], &[]] {
            assert!(opened(&key, &of(order)).is_err(), "{order:?}");
        }
        for at in [0, SALT_BYTES, SALT_BYTES + chunk, sealed.len() - 1] {
            let mut flipped = sealed.clone();
            flipped[at] ^= 1;
            assert!(opened(&key, &flipped).is_err(), "{at}");
        }
    }
}
