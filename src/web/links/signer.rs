//! Creates many links in a row: with the keys in memory, and the text before the token written once.

use std::{fmt, sync::Arc};

use kernel::{MessageId, Timestamp, WorkspaceId};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::{Link, TEST_TOKEN, keys::Keys, later, token};

/// Characters of a short link's code.
const CODE_LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Characters in a code: 59 bits, too many to be found by trying.
pub(super) const CODE_CHARS: usize = 10;

/// Creates links that are valid from one time on. Cheap to clone.
#[derive(Clone)]
pub struct Signer {
    keys: Arc<Keys>,
    /// The public address of this service, with a slash at its end.
    base: Arc<str>,
    now: Timestamp,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("base", &self.base).finish_non_exhaustive()
    }
}

/// The public address of this service, with a slash at its end.
pub(super) fn base(public_url: &Url) -> String {
    let mut base = public_url.clone();
    base.set_query(None);
    base.set_fragment(None);
    let mut base = String::from(base);
    if !base.ends_with('/') {
        base.push('/');
    }
    base
}

impl Signer {
    pub(super) fn new(keys: Arc<Keys>, public_url: &Url, now: Timestamp) -> Self {
        Self { keys, base: base(public_url).into(), now }
    }

    /// The whole link, for a message.
    pub fn url(&self, link: &Link) -> String {
        let expires = link.ttl().map(|ttl| later(self.now, ttl));
        let token = token::write(&self.keys, link, expires);
        format!("{}{}/{token}", self.base, link.path())
    }

    /// A link for test messages that changes nothing; `path` is `u` or `p`.
    pub fn idle_url(&self, path: &str) -> String {
        format!("{}{path}/{TEST_TOKEN}", self.base)
    }

    /// The time from which the links are valid.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The public address of this service, with a slash at its end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The code of a short link of a message: the same for the same target, and not guessable.
    pub fn code(&self, workspace: WorkspaceId, message: MessageId, target: &str) -> String {
        let mut bytes = Sha256::digest(target).to_vec();
        bytes.extend_from_slice(workspace.uuid().as_bytes());
        bytes.extend_from_slice(message.uuid().as_bytes());
        let from = bytes.len();
        self.keys.sign(self.keys.newest(), &mut bytes);
        let first = bytes.get(from..).and_then(<[u8]>::first_chunk::<8>).copied();
        let mut number = u64::from_be_bytes(first.unwrap_or_default());
        let mut code = String::with_capacity(CODE_CHARS);
        for _ in 0..CODE_CHARS {
            let at = usize::try_from(number % 62).unwrap_or_default();
            code.extend(CODE_LETTERS.get(at).copied().map(char::from));
            number /= 62;
        }
        code
    }

    /// The whole short link of a code.
    pub fn short_url(&self, code: &str) -> String {
        format!("{}s/{code}", self.base)
    }
}

/// For tests, in other crates too. Not behind a feature: with one, this crate and those above it would be built twice.
#[doc(hidden)]
impl Signer {
    /// A signer with a fixed key. Panics for an invalid address.
    pub fn of_test(public_url: &str, now: Timestamp) -> Self {
        let key = super::keys::Key { id: 1, secret: vec![7; 32].into() };
        let keys = Keys::new(vec![key]).expect("one key");
        Self::new(Arc::new(keys), &Url::parse(public_url).expect("an address"), now)
    }

    /// The link of a whole address.
    pub fn opened(&self, url: &str) -> Option<Link> {
        let (path, token) = url.strip_prefix(&*self.base)?.split_once('/')?;
        let link = token::Sealed::read(token)?.open(&self.keys)?.link;
        (link.path() == path).then_some(link)
    }
}
