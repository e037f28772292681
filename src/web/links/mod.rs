//! Signed links: what a message may carry so that its reader can act without signing in.
//!
//! A token names ids only, nothing about a person. It is bytes, then their HMAC-SHA256 cut to 128 bits,
//! in base64url; see [`token`] for the layout. Keys are in the database, so every server opens what any
//! server made. A row added to `link_key` rotates: new links are signed by the newest key, old ones keep
//! working while their key's row is there.

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

/// How long a link to the preference page opens it.
pub const PREFERENCES_TTL: Duration = Duration::from_hours(90 * 24);
/// How long a subscription can be confirmed.
pub const CONFIRMATION_TTL: Duration = Duration::from_hours(7 * 24);
/// How old the known keys may get before they are read again.
const KEYS_AGE_MAX: Duration = Duration::from_mins(1);
/// Rest between two readings that unknown key ids ask for: anybody can invent one.
const KEYS_REST: Duration = Duration::from_secs(1);

/// Bytes of an address that a [`Click`] may lead to.
pub const TARGET_BYTES_MAX: usize = 2_048;
/// Bytes of a [`Click`]'s label.
pub const LABEL_BYTES_MAX: usize = 60;

/// What a link lets its holder do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// See and change what one contact gets.
    Preferences(Preferences),
    Unsubscribe(Unsubscribe),
    /// Confirm a subscription that waits for it.
    ConfirmSubscription(ConfirmSubscription),
    /// Confirm an opt-in to a whole channel that waits for it.
    ConfirmChannel(ConfirmChannel),
    /// Tell that a message was opened.
    Open(Open),
    /// Tell that a link of a message was followed, and follow it.
    Click(Click),
}

/// See and change what one contact gets; for [`PREFERENCES_TTL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preferences {
    /// Where the contact is.
    pub workspace: WorkspaceId,
    pub user: UserId,
}

/// What stands for the token in links of tests that go to somebody else than their contact: such a link shows
/// that it works, and does nothing.
pub const TEST_TOKEN: &str = "test";

/// Unsubscribe one contact; never expires, because a message may be read years later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsubscribe {
    /// Where the contact is.
    pub workspace: WorkspaceId,
    pub user: UserId,
    /// From this list only; from the whole channel when absent.
    pub list: Option<ListId>,
    /// The channel of the message; email when absent.
    pub channel: Option<Channel>,
    /// The message that carried the link.
    pub message: Option<Uuid>,
}

/// Confirm a subscription that waits for it; for [`CONFIRMATION_TTL`]. What else the subscription says
/// (its source, the consent text) waits in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfirmSubscription {
    /// Where the contact is.
    pub workspace: WorkspaceId,
    pub user: UserId,
    pub list: ListId,
    pub channel: Channel,
}

/// Confirm an opt-in to a whole channel that waits for it; for [`CONFIRMATION_TTL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfirmChannel {
    /// Where the contact is.
    pub workspace: WorkspaceId,
    pub user: UserId,
    pub channel: Channel,
}

/// Tell that a message was opened; never expires, because a message may be read years later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// Where the message is.
    pub workspace: WorkspaceId,
    pub message: MessageId,
}

/// Tell that a link of a message was followed, and follow it; never expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Click {
    /// Where the message is.
    pub workspace: WorkspaceId,
    pub message: MessageId,
    /// Where the link leads: at most [`TARGET_BYTES_MAX`].
    pub target: String,
    /// What the link says: at most [`LABEL_BYTES_MAX`].
    pub label: String,
}

impl Link {
    /// Where the public page of such links is, without the token.
    const fn path(&self) -> &'static str {
        match self {
            Self::Preferences(_) => "p",
            Self::Unsubscribe(_) => "u",
            Self::ConfirmSubscription(_) | Self::ConfirmChannel(_) => "c",
            Self::Open(_) => "o",
            Self::Click(_) => "l",
        }
    }

    /// How long a link made now opens; for ever when absent.
    const fn ttl(&self) -> Option<Duration> {
        match self {
            Self::Preferences(_) => Some(PREFERENCES_TTL),
            Self::Unsubscribe(_) | Self::Open(_) | Self::Click(_) => None,
            Self::ConfirmSubscription(_) | Self::ConfirmChannel(_) => Some(CONFIRMATION_TTL),
        }
    }
}

/// Makes links and opens them. Cheap to clone; clones share the keys.
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
    /// Keys come from `db`; `public_url` is where recipients reach this service.
    pub fn new(db: PgPool, public_url: Url) -> Self {
        Self(Arc::new(Inner { db, public_url, keys: RwLock::default() }))
    }

    /// Where recipients, and providers, reach this service.
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

    /// Whether an address is one of this service's.
    pub fn is_own(&self, address: &str) -> bool {
        address.starts_with(&*signer::base(&self.0.public_url))
    }

    /// Who makes links from now on without waiting for anything: for those who make many.
    ///
    /// # Errors
    /// When the keys cannot be read.
    pub async fn signer(&self, now: Timestamp) -> Result<Signer> {
        Ok(Signer::new(self.keys(now).await?, &self.0.public_url, now))
    }

    /// What a token stands for; nothing when it is not ours, was changed, or has expired. Nobody is told
    /// which of these it was.
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
