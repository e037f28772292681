//! Credential → caller → scope: who is asking, for which workspace, and what they may do.
//!
//! - The hot path asks PostgreSQL nothing: a key is looked up on its first use and then kept.
//! - A revocation takes effect within a second: by notification at once, by polling a counter of
//!   changes twice a second when the notification is lost.
//! - With PostgreSQL away, keys in use keep working for a time ([`Tolerance`]), since nobody could say that they
//!   were revoked; after it, and for keys never seen, the answer is 503.
//! - Once too many keys of a peer did not exist, keys of that peer that are not kept are answered 429 without
//!   asking PostgreSQL ([`LookUpLimit`]). Session tokens need no such limit: only signed ones cost a query.

mod caller;
mod credential;
mod store;
mod token;
mod watch;

pub mod keys;
pub mod revoke;
pub mod scope;
pub mod sessions;

pub use self::{
    caller::{Caller, CallerOrSession, Holder, SdkCaller, SdkTracker},
    scope::{Scope, ScopeName, ScopeSet, UnknownScope},
    token::KeyKind,
};

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::request::Parts;
use kernel::{Clock, Error, KeyId, OrganizationId, Result};
use secrecy::SecretString;
use sqlx::PgPool;
use tokio::{sync::Semaphore, time::timeout};

use self::{
    credential::{Cache, Cached, Credential},
    sessions::{Session, Sessions},
    token::Presented,
};
use crate::http::{Client, TrustedProxies, failures::FailureRate};

/// Look-ups of unknown keys at a time: a flood of invented ids leaves the pool to others.
const LOOK_UPS_MAX: usize = 4;
/// How old another caller's answer may be to be shared.
const SHARED_ANSWER_AGE_MAX: Duration = Duration::from_millis(500);
/// What a caller with a wrong credential learns, whatever is wrong with it.
const INVALID: Error = Error::Unauthenticated("Invalid API key");

/// Knows who is asking. Cloned freely; clones share the cache.
#[derive(Debug, Clone)]
pub struct Auth(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pool: PgPool,
    clock: Clock,
    sessions: Sessions,
    cache: Cache,
    look_ups: Semaphore,
    tolerance: Tolerance,
    limit: LookUpLimit,
}

/// How often keys that do not exist are looked up.
#[derive(Debug, Clone)]
pub struct LookUpLimit {
    pub rate: FailureRate,
    /// Proxies that name the peer.
    pub proxies: TrustedProxies,
}

impl LookUpLimit {
    pub fn none() -> Self {
        Self { rate: FailureRate::NONE, proxies: TrustedProxies::default() }
    }
}

/// How long a key is taken since PostgreSQL last confirmed it.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// Where events are tracked, which are lost otherwise.
    pub tracking: Duration,
    pub otherwise: Duration,
}

/// What a key is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Tracking,
    Other,
}

impl Auth {
    /// Keys come from `pool`, session tokens from `sessions`.
    pub fn new(
        pool: PgPool,
        clock: Clock,
        sessions: Sessions,
        tolerance: Tolerance,
        limit: LookUpLimit,
    ) -> Self {
        let look_ups = Semaphore::new(LOOK_UPS_MAX);
        let cache = Cache::default();
        Self(Arc::new(Inner { pool, clock, sessions, cache, look_ups, tolerance, limit }))
    }

    /// The live key of this text, which came with a request of this head.
    async fn key(
        &self,
        text: &SecretString,
        kind: KeyKind,
        used: Use,
        head: &Parts,
    ) -> Result<Arc<Credential>> {
        let presented = Presented::read(text, kind).ok_or(INVALID)?;
        let credential = match self.0.cache.get(&presented.id) {
            Cached::Known(credential, unconfirmed) if unconfirmed <= self.tolerated(used) => {
                credential
            }
            Cached::Known(..) => self.confirm(presented.id).await?.ok_or(INVALID)?,
            Cached::Unknown => return Err(INVALID),
            Cached::Missing => self.find(presented.id, head).await?.ok_or(INVALID)?,
        };
        if credential.kind != kind || !presented.proves(&credential.hash) {
            return Err(INVALID);
        }
        credential.used_ms.note(self.0.clock.now());
        Ok(credential)
    }

    fn tolerated(&self, used: Use) -> Duration {
        match used {
            Use::Tracking => self.0.tolerance.tracking,
            Use::Other => self.0.tolerance.otherwise,
        }
    }

    /// Asks PostgreSQL for a key that was not confirmed for too long, unless others are asking already: then it
    /// is most likely away, and no request waits for it.
    async fn confirm(&self, id: KeyId) -> Result<Option<Arc<Credential>>> {
        if self.0.look_ups.available_permits() == 0 {
            return Err(Error::store_unavailable());
        }
        self.look_up(id, Client(None)).await
    }

    /// Asks PostgreSQL for a key the cache does not have, unless the client sent too many that do not exist.
    async fn find(&self, id: KeyId, head: &Parts) -> Result<Option<Arc<Credential>>> {
        let LookUpLimit { rate, proxies } = &self.0.limit;
        let client = Client::of(&head.extensions, &head.headers, proxies);
        rate.check(client)?;
        self.look_up(id, client).await
    }

    /// Asks PostgreSQL for a key the cache does not have, or that it has to hear of again. Its turn included, that
    /// takes no longer than a request waits for a connection. Counts a key that does not exist for its client.
    async fn look_up(&self, id: KeyId, client: Client) -> Result<Option<Arc<Credential>>> {
        let inner = &self.0;
        let asked = async {
            let _turn = inner.look_ups.acquire().await.map_err(Error::internal)?;
            // Someone else may have asked while we waited for our turn.
            match inner.cache.get(&id) {
                Cached::Known(credential, unconfirmed) if unconfirmed <= SHARED_ANSWER_AGE_MAX => {
                    return Ok(Some(credential));
                }
                Cached::Unknown => return Ok(None),
                Cached::Known(..) | Cached::Missing => {}
            }
            // Keys of the client may have failed meanwhile.
            inner.limit.rate.check(client)?;
            loop {
                let (begun, asked) = (inner.cache.generation(), Instant::now());
                let found = store::live_keys(&inner.pool, &[id]).await?.pop().map(Arc::new);
                // Overtaken by a refresh, the answer may be from before a change: ask again.
                if inner.cache.admit(begun, asked, id, found.as_ref()) {
                    if found.is_none() {
                        inner.limit.rate.count(client);
                    }
                    return Ok(found);
                }
            }
        };
        let wait_max = inner.pool.options().get_acquire_timeout();
        timeout(wait_max, asked).await.unwrap_or_else(|_| {
            tracing::warn!(?wait_max, "PostgreSQL did not say in time whether a key is alive");
            Err(Error::store_unavailable())
        })
    }

    /// The organization of a session's workspace; a session that was revoked, or of a workspace that is gone, opens
    /// nothing.
    async fn organization(&self, session: &Session) -> Result<OrganizationId> {
        let found = store::organization_of_session(&self.0.pool, session).await?;
        found.ok_or(Error::Unauthenticated("Invalid session token"))
    }

    /// The session of this text.
    fn session(&self, text: &SecretString) -> Result<Session> {
        self.0.sessions.verify(text, self.0.clock.now())
    }
}
