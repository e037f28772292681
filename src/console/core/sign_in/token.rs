//! Random tokens, of which only hashes are stored.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

/// Random bytes of a token; so many need no slow hash.
const TOKEN_BYTES: usize = 32;
/// What the hash of a CSRF token begins with, so that it is no other hash of the session's token.
const CSRF: &[u8] = b"millrace console csrf\0";

/// The hash under which a token is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenHash(pub(super) [u8; 32]);

/// What a token is for, as its prefix says: secret scanners find leaked ones by it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    Link,
    Session,
}

impl Purpose {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Link => "mrl_",
            Self::Session => "mrc_",
        }
    }
}

/// A new token of random bytes.
pub(super) fn mint(purpose: Purpose) -> SecretString {
    let random = BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; TOKEN_BYTES]>());
    SecretString::from(format!("{}{random}", purpose.prefix()))
}

/// The hash of a token that was sent.
pub(super) fn hash(token: &SecretString) -> TokenHash {
    TokenHash(Sha256::digest(token.expose_secret().as_bytes()).into())
}

/// The CSRF token of a session: only who has the session's token can compute it.
pub(super) fn csrf(session: &SecretString) -> String {
    let hash = Sha256::new().chain_update(CSRF).chain_update(session.expose_secret()).finalize();
    BASE64_URL_SAFE_NO_PAD.encode(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_have_csrf_tokens_of_their_own() {
        let (one, other) = (mint(Purpose::Session), mint(Purpose::Session));
        assert!(one.expose_secret().starts_with("mrc_") && one.expose_secret().len() == 47);
        assert!(hash(&one).0 != hash(&other).0);
        assert_ne!(csrf(&one), csrf(&other));
        assert_eq!(csrf(&one), csrf(&one));
    }
}
