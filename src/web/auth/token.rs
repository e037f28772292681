//! The text of a key: `mr_<id>_<secret>` for API keys, `mrs_…` for SDK keys.
//!
//! The id (12 letters and digits) is for the lookup, the secret (32 random bytes, 43 characters of base64url)
//! is the proof. The prefix lets secret scanners find leaked keys.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use kernel::KeyId;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Random bytes of a secret. 256 bits need no slow hash.
const SECRET_BYTES: usize = 32;
/// Their length in base64url without padding.
const SECRET_CHARS: usize = 43;

/// The kind of caller that uses a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// Programs: `Authorization: Bearer`, with scopes.
    Api,
    /// Client SDKs: `X-SDK-Key`, without scopes.
    Sdk,
}

impl KeyKind {
    /// The kind as it is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Sdk => "sdk",
        }
    }

    pub(super) fn of_stored(text: &str) -> Option<Self> {
        [Self::Api, Self::Sdk].into_iter().find(|kind| kind.as_str() == text)
    }

    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::Api => "mr_",
            Self::Sdk => "mrs_",
        }
    }
}

/// The hash of a secret, which is stored in its place.
#[derive(Clone, Copy)]
pub(super) struct SecretHash(pub(super) [u8; 32]);

impl SecretHash {
    fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }
}

impl std::fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretHash")
    }
}

/// A new key: its text is shown once, its hash is stored.
pub(super) struct Minted {
    pub(super) id: KeyId,
    pub(super) text: SecretString,
    pub(super) hash: SecretHash,
}

pub(super) fn mint(kind: KeyKind) -> Minted {
    let id = KeyId::mint();
    let secret = BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; SECRET_BYTES]>());
    let hash = SecretHash::of(secret.as_bytes());
    let text = SecretString::from(format!("{}{id}_{secret}", kind.prefix()));
    Minted { id, text, hash }
}

/// The parts of a key that was sent.
pub(super) struct Presented {
    pub(super) id: KeyId,
    hash: SecretHash,
}

impl Presented {
    /// Parses a key; `None` for a text that is not a key of this kind.
    pub(super) fn read(text: &SecretString, kind: KeyKind) -> Option<Self> {
        let (id, secret) = text.expose_secret().strip_prefix(kind.prefix())?.split_once('_')?;
        if secret.len() != SECRET_CHARS {
            return None;
        }
        Some(Self { id: id.parse().ok()?, hash: SecretHash::of(secret.as_bytes()) })
    }

    /// Whether the secret is the stored one, in constant time.
    pub(super) fn proves(&self, stored: &SecretHash) -> bool {
        self.hash.0.ct_eq(&stored.0).into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_minted_key_proves_itself_and_no_other() {
        for kind in [KeyKind::Api, KeyKind::Sdk] {
            let (one, other) = (mint(kind), mint(kind));
            let presented = Presented::read(&one.text, kind).unwrap();
            assert_eq!(presented.id, one.id);
            assert!(presented.proves(&one.hash));
            assert!(!presented.proves(&other.hash));
            assert_ne!(one.id, other.id);
        }
    }

    #[test]
    fn a_key_has_the_documented_form() {
        let text = mint(KeyKind::Api).text.expose_secret().to_owned();
        let parts: Vec<&str> = text.splitn(3, '_').collect();
        assert_eq!((parts[0], parts[1].len(), parts[2].len()), ("mr", 12, 43));
        assert!(mint(KeyKind::Sdk).text.expose_secret().starts_with("mrs_"));
    }

    #[test]
    fn kinds_are_not_taken_for_one_another() {
        assert!(Presented::read(&mint(KeyKind::Api).text, KeyKind::Sdk).is_none());
        assert!(Presented::read(&mint(KeyKind::Sdk).text, KeyKind::Api).is_none());
    }

    proptest! {
        #[test]
        fn invalid_keys_are_refused_without_a_panic(text in "(mr_|mrs_)?\\PC{0,60}") {
            let _ = Presented::read(&SecretString::from(text), KeyKind::Api);
        }

        #[test]
        fn one_changed_character_of_the_secret_proves_nothing(at in 16_usize..59) {
            let minted = mint(KeyKind::Api);
            let mut bytes = minted.text.expose_secret().as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = SecretString::from(String::from_utf8(bytes).unwrap());
            prop_assert!(!Presented::read(&changed, KeyKind::Api).unwrap().proves(&minted.hash));
        }
    }
}
