//! The keys that sign links, and their signatures.

use hmac::{Hmac, Mac as _};
use kernel::{Error, Result};
use secrecy::{ExposeSecret as _, SecretSlice};
use sha2::Sha256;

/// Bytes of a signature: HMAC-SHA256 cut to 128 bits (RFC 2104 5 allows half of the hash).
pub(super) const SIGNATURE_BYTES: usize = 16;

#[derive(Debug)]
pub(super) struct Key {
    pub(super) id: i16,
    pub(super) secret: SecretSlice<u8>,
}

/// Every key, the newest last.
#[derive(Debug)]
pub(super) struct Keys(Vec<Key>);

impl Keys {
    /// At least one is required.
    pub(super) fn new(keys: Vec<Key>) -> Result<Self> {
        if keys.is_empty() {
            return Err(Error::internal("there is no link key: links cannot be signed"));
        }
        Ok(Self(keys))
    }

    /// The id of the key that signs.
    pub(super) fn newest(&self) -> i16 {
        self.0.last().map_or(0, |key| key.id)
    }

    pub(super) fn has(&self, id: i16) -> bool {
        self.0.iter().any(|key| key.id == id)
    }

    fn hash(&self, id: i16, bytes: &[u8]) -> Option<Hmac<Sha256>> {
        let key = self.0.iter().find(|key| key.id == id)?;
        let mut hash = Hmac::<Sha256>::new_from_slice(key.secret.expose_secret()).ok()?;
        hash.update(bytes);
        Some(hash)
    }

    /// Appends the signature of these bytes by the key `id`.
    pub(super) fn sign(&self, id: i16, bytes: &mut Vec<u8>) {
        if let Some(hash) = self.hash(id, bytes) {
            bytes.extend_from_slice(&hash.finalize().into_bytes()[..SIGNATURE_BYTES]);
        }
    }

    /// Whether the signature matches these bytes and this key, in constant time.
    pub(super) fn proves(&self, id: i16, bytes: &[u8], signature: &[u8]) -> bool {
        signature.len() == SIGNATURE_BYTES
            && self
                .hash(id, bytes)
                .is_some_and(|hash| hash.verify_truncated_left(signature).is_ok())
    }
}
