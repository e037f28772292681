//! Signed links in messages, with which recipients act without signing in.
//!
//! A token contains only ids, no personal data. It is bytes followed by their HMAC-SHA256 cut to 128 bits, in
//! base64url; see [`token`] for the layout. The keys are in the database, so every server opens the links of
//! every other. A new row in `link_key` rotates the key: the newest key signs new links, and older links work
//! while their key's row exists.

mod keys;
mod signer;
mod store;
mod token;

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::RwLock;
use sqlx::PgPool;
use url::Url;
use uuid::Uuid;

use self::keys::Keys;
pub use self::signer::Signer;
use kernel::{Channel, ListId, MessageId, Result, Timestamp, UserId, WorkspaceId};

/// How long a link to the preference page works.
pub const PREFERENCES_TTL: Duration = Duration::from_hours(90 * 24);
/// How long a subscription can be confirmed.
pub const CONFIRMATION_TTL: Duration = Duration::from_hours(7 * 24);
/// How old the cached keys may get before they are read again.
const KEYS_AGE_MAX: Duration = Duration::from_mins(1);
/// Pause between two reads for unknown key ids, because anyone can invent such ids.
const KEYS_REST: Duration = Duration::from_secs(1);

/// Greatest length of the address that a [`Click`] leads to, in bytes.
pub const TARGET_BYTES_MAX: usize = 2_048;
/// Greatest length of a [`Click`]'s label, in bytes.
pub const LABEL_BYTES_MAX: usize = 60;

/// A link and what it permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// Shows and changes the consent of one contact.
    Preferences(Preferences),
    Unsubscribe(Unsubscribe),
    /// Confirms a pending subscription.
    ConfirmSubscription(ConfirmSubscription),
    /// Confirms a pending opt-in to a channel.
    ConfirmChannel(ConfirmChannel),
    /// Records that a message was opened.
    Open(Open),
    /// Records a click of a link in a message, and redirects to its target.
    Click(Click),
}

/// Shows and changes the consent of one contact, for [`PREFERENCES_TTL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preferences {
    pub workspace: WorkspaceId,
    pub user: UserId,
}

/// The token in links of test messages that go to a person other than the contact. Such a link shows a page and
/// changes nothing.
pub const TEST_TOKEN: &str = "test";

/// Unsubscribes one contact. Never expires, because a message may be read years later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsubscribe {
    pub workspace: WorkspaceId,
    pub user: UserId,
    /// Only from this list; from the whole channel when absent.
    pub list: Option<ListId>,
    /// The channel of the message; email when absent.
    pub channel: Option<Channel>,
    /// The message that carried the link.
    pub message: Option<Uuid>,
}

/// Confirms a pending subscription, for [`CONFIRMATION_TTL`]. The rest of the subscription (its source, the
/// consent text) is in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfirmSubscription {
    pub workspace: WorkspaceId,
    pub user: UserId,
    pub list: ListId,
    pub channel: Channel,
}

/// Confirms a pending opt-in to a channel, for [`CONFIRMATION_TTL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfirmChannel {
    pub workspace: WorkspaceId,
    pub user: UserId,
    pub channel: Channel,
}

/// Records that a message was opened. Never expires, because a message may be read years later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    pub workspace: WorkspaceId,
    pub message: MessageId,
}

/// Records a click of a link in a message, and redirects to its target. Never expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Click {
    pub workspace: WorkspaceId,
    pub message: MessageId,
    /// The address to which it redirects: at most [`TARGET_BYTES_MAX`].
    pub target: String,
    /// The text of the link: at most [`LABEL_BYTES_MAX`].
    pub label: String,
}

impl Link {
    /// The path of the public page of such links, without the token.
    const fn path(&self) -> &'static str {
        match self {
            Self::Preferences(_) => "p",
            Self::Unsubscribe(_) => "u",
            Self::ConfirmSubscription(_) | Self::ConfirmChannel(_) => "c",
            Self::Open(_) => "o",
            Self::Click(_) => "l",
        }
    }

    /// How long a new link works; forever when absent.
    const fn ttl(&self) -> Option<Duration> {
        match self {
            Self::Preferences(_) => Some(PREFERENCES_TTL),
            Self::Unsubscribe(_) | Self::Open(_) | Self::Click(_) => None,
            Self::ConfirmSubscription(_) | Self::ConfirmChannel(_) => Some(CONFIRMATION_TTL),
        }
    }
}

/// Creates and opens links. Clones share the keys.
#[derive(Clone)]
pub struct Links(Arc<Inner>);

struct Inner {
    db: PgPool,
    public_url: Url,
    keys: RwLock<Option<Read>>,
}

/// Keys, and when they were read.
#[derive(Clone)]
struct Read {
    keys: Arc<Keys>,
    at: Timestamp,
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").field("public_url", &self.0.public_url).finish_non_exhaustive()
    }
}

impl Links {
    /// Keys are read from `db`; `public_url` is the public address of this service.
    pub fn new(db: PgPool, public_url: Url) -> Self {
        Self(Arc::new(Inner { db, public_url, keys: RwLock::default() }))
    }

    /// The public address of this service.
    pub fn public_url(&self) -> &Url {
        &self.0.public_url
    }

    /// The token of a link, valid from now on.
    ///
    /// # Errors
    /// When the keys cannot be read.
    pub async fn sign(&self, now: Timestamp, link: &Link) -> Result<String> {
        let expires = link.ttl().map(|ttl| later(now, ttl));
        Ok(token::write(&*self.keys(now).await?, link, expires))
    }

    /// The whole link, for a message.
    ///
    /// # Errors
    /// When the keys cannot be read.
    pub async fn url(&self, now: Timestamp, link: &Link) -> Result<Url> {
        let token = self.sign(now, link).await?;
        let mut url = self.0.public_url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend([link.path(), &token]);
        }
        Ok(url)
    }

    /// Whether an address belongs to this service.
    pub fn is_own(&self, address: &str) -> bool {
        address.starts_with(&*signer::base(&self.0.public_url))
    }

    /// A signer for many links, which needs no further queries.
    ///
    /// # Errors
    /// When the keys cannot be read.
    pub async fn signer(&self, now: Timestamp) -> Result<Signer> {
        Ok(Signer::new(self.keys(now).await?, &self.0.public_url, now))
    }

    /// The link of a token; `None` for an invalid, changed or expired token. Callers cannot distinguish these.
    ///
    /// # Errors
    /// When the keys cannot be read.
    pub async fn open(&self, now: Timestamp, token: &str) -> Result<Option<Link>> {
        let Some(sealed) = token::Sealed::read(token) else { return Ok(None) };
        let mut keys = self.keys(now).await?;
        if !keys.has(sealed.key()) {
            keys = self.keys_younger_than(now, KEYS_REST).await?;
        }
        let opened = sealed.open(&keys);
        Ok(opened.filter(|opened| opened.expires.is_none_or(|at| now < at)).map(|o| o.link))
    }

    async fn keys(&self, now: Timestamp) -> Result<Arc<Keys>> {
        self.keys_younger_than(now, KEYS_AGE_MAX).await
    }

    async fn keys_younger_than(&self, now: Timestamp, age_max: Duration) -> Result<Arc<Keys>> {
        let read = self.0.keys.read().clone();
        if let Some(read) = read.filter(|read| now < later(read.at, age_max)) {
            return Ok(read.keys);
        }
        let keys = Arc::new(Keys::new(store::list_keys(&self.0.db).await?)?);
        *self.0.keys.write() = Some(Read { keys: Arc::clone(&keys), at: now });
        Ok(keys)
    }
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    let ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(at.millis().saturating_add(ms))
}
