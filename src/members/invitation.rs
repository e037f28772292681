//! Links with which a member sets a password, once.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use kernel::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use url::Url;

/// The page of the console that such a link opens.
pub const SET_PASSWORD_PATH: &str = "/console/password";
/// How long a link holds.
const LIFE: Duration = Duration::from_hours(3 * 24);
/// Random bytes of a token; so many need no slow hash.
const TOKEN_BYTES: usize = 32;
/// Longest token that is looked up, in bytes.
const TOKEN_BYTES_MAX: usize = 256;

/// The hash under which a token is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenHash(pub(crate) [u8; 32]);

impl TokenHash {
    /// The hash of a token that was sent; none for what is no token.
    pub(crate) fn of(token: &SecretString) -> Option<Self> {
        let text = token.expose_secret();
        let is_possible = !text.is_empty() && text.len() <= TOKEN_BYTES_MAX;
        is_possible.then(|| Self(Sha256::digest(text.as_bytes()).into()))
    }
}

/// A link for a member.
#[derive(Debug)]
pub(crate) struct Invitation {
    pub(crate) url: Url,
    pub(crate) hash: TokenHash,
    pub(crate) expires_at: Timestamp,
}

impl Invitation {
    /// A new link to the console at this address.
    pub(crate) fn mint(console_url: &Url, now: Timestamp) -> Self {
        let random = BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; TOKEN_BYTES]>());
        let token = format!("mri_{random}");
        let mut url = console_url.clone();
        url.set_path(SET_PASSWORD_PATH);
        url.set_fragment(None);
        url.query_pairs_mut().clear().append_pair("token", &token);
        let hash = TokenHash(Sha256::digest(token.as_bytes()).into());
        Self { url, hash, expires_at: now.after(LIFE) }
    }
}
