//! Authentication and authorisation: from a credential to a caller, a workspace and scopes.
//!
//! - The hot path does not query PostgreSQL: a key is looked up at its first use and then cached.
//! - A revocation takes effect within a second: by notification at once, or by polling a counter of changes
//!   twice a second when the notification is lost.
//! - While PostgreSQL is unavailable, cached keys keep working for a time ([`Tolerance`]), because revocations
//!   cannot be noticed. After it, and for other keys, the answer is 503.
//! - When a peer has sent too many unknown keys, its uncached keys are answered 429 without a query
//!   ([`LookUpLimit`]). Session tokens need no such limit: only signed ones cost a query.

mod caller;
mod credential;
mod signed_in;
mod store;
mod token;
mod watch;
mod write_key;

pub mod keys;
pub mod revoke;
pub mod scope;
pub mod sessions;

pub use self::{
    caller::{Caller, CallerOrSession, Holder, SdkCaller, SdkTracker, actor_of_key},
    scope::{Scope, ScopeName, ScopeSet, UnknownScope},
    signed_in::SignedIn,
    token::KeyKind,
    write_key::WriteKey,
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

/// Concurrent lookups of unknown keys, so that a flood of invented ids leaves connections to other requests.
const LOOK_UPS_MAX: usize = 4;
/// How old the result of another request's lookup may be to be shared.
const SHARED_ANSWER_AGE_MAX: Duration = Duration::from_millis(500);
/// The error for any invalid credential. It does not reveal what is invalid.
const INVALID: Error = Error::Unauthenticated("Invalid API key");

/// Authenticates callers. Clones share the cache.
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

/// The rate limit of lookups of unknown keys.
#[derive(Debug, Clone)]
pub struct LookUpLimit {
    pub rate: FailureRate,
    /// Proxies that name the peer in a header.
    pub proxies: TrustedProxies,
}

impl LookUpLimit {
    pub fn none() -> Self {
        Self { rate: FailureRate::NONE, proxies: TrustedProxies::default() }
    }
}

/// How long a key is accepted after PostgreSQL last confirmed it.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// For tracking, where refused events would be lost.
    pub tracking: Duration,
    pub otherwise: Duration,
}

/// The use of a key that determines its tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Tracking,
    Other,
}

impl Auth {
    /// Keys are read from `pool`; session tokens are verified by `sessions`.
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

    /// The live key of this text, sent with a request of this head.
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

    /// A key that was presented before, if it is still live.
    async fn live(&self, id: KeyId) -> Result<Option<Arc<Credential>>> {
        match self.0.cache.get(&id) {
            Cached::Known(credential, unconfirmed) if unconfirmed <= self.tolerated(Use::Other) => {
                Ok(Some(credential))
            }
            Cached::Known(..) => self.confirm(id).await,
            Cached::Unknown => Ok(None),
            Cached::Missing => self.look_up(id, Client(None)).await,
        }
    }

    fn tolerated(&self, used: Use) -> Duration {
        match used {
            Use::Tracking => self.0.tolerance.tracking,
            Use::Other => self.0.tolerance.otherwise,
        }
    }

    /// Asks PostgreSQL for a key whose confirmation is too old. Does not wait if other requests are asking already:
    /// then PostgreSQL is most likely unavailable.
    async fn confirm(&self, id: KeyId) -> Result<Option<Arc<Credential>>> {
        if self.0.look_ups.available_permits() == 0 {
            return Err(Error::store_unavailable());
        }
        self.look_up(id, Client(None)).await
    }

    /// Looks up a key that is not cached, unless the client has sent too many unknown ones.
    async fn find(&self, id: KeyId, head: &Parts) -> Result<Option<Arc<Credential>>> {
        let LookUpLimit { rate, proxies } = &self.0.limit;
        let client = Client::of(&head.extensions, &head.headers, proxies);
        rate.check(client)?;
        self.look_up(id, client).await
    }

    /// Looks up a key that is not cached or needs confirmation. Waiting for a permit included, it takes no longer
    /// than a request waits for a connection. Counts an unknown key against its client.
    async fn look_up(&self, id: KeyId, client: Client) -> Result<Option<Arc<Credential>>> {
        let inner = &self.0;
        let asked = async {
            let _turn = inner.look_ups.acquire().await.map_err(Error::internal)?;
            // Another request may have looked it up during the wait.
            match inner.cache.get(&id) {
                Cached::Known(credential, unconfirmed) if unconfirmed <= SHARED_ANSWER_AGE_MAX => {
                    return Ok(Some(credential));
                }
                Cached::Unknown => return Ok(None),
                Cached::Known(..) | Cached::Missing => {}
            }
            // Other keys of the client may have failed meanwhile.
            inner.limit.rate.check(client)?;
            loop {
                let (begun, asked) = (inner.cache.generation(), Instant::now());
                let found = store::live_keys(&inner.pool, &[id]).await?.pop().map(Arc::new);
                // A refresh happened during the lookup, so the result may be older than a change: look it up again.
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
            tracing::warn!(?wait_max, "PostgreSQL did not answer in time whether a key is live");
            Err(Error::store_unavailable())
        })
    }

    /// The organization of a session's workspace; an error for a revoked session or a deleted workspace.
    async fn organization(&self, session: &Session) -> Result<OrganizationId> {
        let found = store::organization_of_session(&self.0.pool, session).await?;
        found.ok_or(Error::Unauthenticated("Invalid session token"))
    }

    /// The session of this token.
    fn session(&self, text: &SecretString) -> Result<Session> {
        self.0.sessions.verify(text, self.0.clock.now())
    }
}
