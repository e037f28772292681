//! Rate limits: a token bucket for each credential in each class of routes.
//!
//! A route belongs to a class by its router ([`limited`]). The caller is known only after its credential was
//! verified, so the argument that verifies it takes from the bucket ([`admit`]): invented credentials have no
//! buckets. Every answer of a limited route reports the state of its bucket in the headers of
//! draft-ietf-httpapi-ratelimit-headers.

use std::{
    hash::{BuildHasher as _, Hash, RandomState},
    num::NonZeroU32,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::{
    extract::Request,
    middleware,
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use governor::{
    Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::DefaultKeyedStateStore,
};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use kernel::{Error, Result};
use utoipa_axum::router::OpenApiRouter;

use super::{
    openapi,
    requester::{Client, PeerKey, TrustedProxies},
};
use crate::http::{ApiError, ErrorWithCode};

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The period of the rates in this file.
const WINDOW: Duration = Duration::from_secs(1);
/// Requests after which full buckets are removed.
const SWEEP_EVERY: u32 = 65_536;

/// Routes that share a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateClass {
    /// Consent, lists, the preference page, suppressions.
    Management,
    Campaigns,
    /// Messages sent one by one.
    Transactional,
}

impl RateClass {
    /// The name in `RateLimit-Policy` and in metrics.
    const fn name(self) -> &'static str {
        match self {
            Self::Management => "mgmt",
            Self::Campaigns => "campaigns",
            Self::Transactional => "transactional",
        }
    }
}

/// The limit of one credential in one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests a second in the long run; 0 for no limit.
    pub per_second: u32,
    /// Requests at once after a pause; at least `per_second`.
    pub burst: u32,
}

/// A bucket for each credential, identified by a keyed hash.
type Buckets =
    RateLimiter<u64, DefaultKeyedStateStore<u64>, DefaultClock, StateInformationMiddleware>;

/// The buckets of one class. Clones share them.
#[derive(Debug, Clone)]
pub struct RateLimit(Option<Arc<Class>>);

/// Buckets by any key, checked by the route itself: for limits that are not one per credential and class.
/// Clones share them.
///
/// A bucket exists while it is not full, so the rate of requests bounds memory, not the number of keys ever
/// seen.
#[derive(Debug, Clone)]
pub struct KeyedRate(Option<Arc<Class>>);

/// The buckets of apps: one for each peer, and one for each SDK key. Clones share them.
#[derive(Debug, Clone)]
pub struct AppRates {
    peer: Option<Arc<Class>>,
    key: Option<Arc<Class>>,
}

impl AppRates {
    pub const NONE: Self = Self { peer: None, key: None };

    /// A rate of 0 a second is no limit.
    pub fn new(peer: Rate, key: Rate) -> Self {
        Self { peer: Class::new("sdk_peer", peer), key: Class::new("sdk_key", key) }
    }
}

/// The buckets of one limit.
#[derive(Debug)]
pub(super) struct Class {
    policy: RatePolicy,
    burst: u32,
    buckets: Buckets,
    hasher: RandomState,
    until_sweep: AtomicU32,
}

/// A limit as in `RateLimit-Policy`: `quota` requests in a `window`.
#[derive(Debug, Clone, Copy)]
pub(super) struct RatePolicy {
    pub(super) name: &'static str,
    pub(super) quota: u32,
    pub(super) window: Duration,
}

/// State of a rate limit after a request, as the `RateLimit-*` headers report it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateLimitStatus {
    pub(super) remaining: u32,
    /// Until the bucket is full, or until the next token if it is empty.
    pub(super) reset: Duration,
}

/// The limit of a route, in the request's extensions until its caller is verified.
#[derive(Debug, Clone)]
struct Gate {
    class: Arc<Class>,
    status: Arc<OnceLock<RateLimitStatus>>,
}

impl RateLimit {
    pub const NONE: Self = Self(None);

    pub fn new(class: RateClass, rate: Rate) -> Self {
        Self(Class::new(class.name(), rate))
    }
}

impl KeyedRate {
    pub const NONE: Self = Self(None);

    /// `name` is the limit's name in metrics; a rate of 0 a second is no limit.
    pub fn new(name: &'static str, rate: Rate) -> Self {
        Self(Class::new(name, rate))
    }

    /// Counts a request of this key.
    ///
    /// # Errors
    /// 429 when the key's bucket is empty.
    pub fn admit(&self, key: impl Hash) -> Result<()> {
        let Some(class) = &self.0 else { return Ok(()) };
        class.take(key).map(drop).map_err(|status| class.throttled(status))
    }

    /// Counts a request of a client, if the client is known.
    ///
    /// # Errors
    /// 429 when the client's bucket is empty.
    pub fn admit_client(&self, client: Client) -> Result<()> {
        client.0.map_or(Ok(()), |peer| self.admit(peer))
    }
}

impl Class {
    /// The buckets of a rate; `None` where it sets no limit.
    pub(super) fn new(name: &'static str, rate: Rate) -> Option<Arc<Self>> {
        let per_second = NonZeroU32::new(rate.per_second)?;
        let burst = NonZeroU32::new(rate.burst).unwrap_or(per_second).max(per_second);
        let quota = Quota::per_second(per_second).allow_burst(burst);
        let policy = RatePolicy { name, quota: per_second.get(), window: WINDOW };
        Some(Arc::new(Self::of(quota, policy)))
    }

    /// Likewise, of a rate that is too low to be counted by the second.
    pub(super) fn per_minute(name: &'static str, requests: NonZeroU32) -> Arc<Self> {
        let policy = RatePolicy { name, quota: requests.get(), window: Duration::from_mins(1) };
        Arc::new(Self::of(Quota::per_minute(requests), policy))
    }

    fn of(quota: Quota, policy: RatePolicy) -> Self {
        Self {
            policy,
            burst: quota.burst_size().get(),
            buckets: RateLimiter::keyed(quota).with_middleware(),
            hasher: RandomState::new(),
            until_sweep: AtomicU32::new(SWEEP_EVERY),
        }
    }

    /// The time in which one token returns.
    pub(super) fn interval(&self) -> Duration {
        self.policy.window / self.policy.quota
    }

    /// The error of a request over the rate; counts it.
    pub(super) fn throttled(&self, status: RateLimitStatus) -> Error {
        metrics_catalogue::HTTP_REQUESTS_THROTTLED.with([self.policy.name]).increment(1);
        Error::Throttled { retry_after: status.reset }
    }

    /// Takes one request out of a credential's bucket.
    pub(super) fn take(&self, credential: impl Hash) -> Result<RateLimitStatus, RateLimitStatus> {
        if self.until_sweep.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.until_sweep.store(SWEEP_EVERY, Ordering::Relaxed);
            self.buckets.retain_recent();
        }
        match self.buckets.check_key(&self.hasher.hash_one(credential)) {
            Ok(snapshot) => {
                let remaining = snapshot.remaining_burst_capacity();
                let missing = self.burst.saturating_sub(remaining);
                let reset = self.policy.window * missing / self.policy.quota;
                Ok(RateLimitStatus { remaining, reset })
            }
            Err(refused) => {
                let reset = refused.wait_time_from(DefaultClock::default().now());
                Err(RateLimitStatus { remaining: 0, reset })
            }
        }
    }
}

/// Writes the `RateLimit-*` headers. A burst may leave more than the limit; `remaining` never exceeds `limit`.
pub(super) fn describe(policy: &RatePolicy, status: RateLimitStatus, headers: &mut HeaderMap) {
    let &RatePolicy { name, quota, window } = policy;
    let policy = format!("\"{name}\";q={quota};w={}", window.as_secs());
    headers.insert(LIMIT, HeaderValue::from(quota));
    headers.insert(REMAINING, HeaderValue::from(status.remaining.min(quota)));
    headers.insert(RESET, HeaderValue::from(whole_seconds(status.reset)));
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(POLICY, policy);
    }
}

fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// Puts the routes of a router into a class. Its callers are counted by [`admit`].
pub fn limited<S>(mut routes: OpenApiRouter<S>, limit: &RateLimit) -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    openapi::describe_rate_limit(routes.get_openapi_mut());
    let Some(class) = limit.0.clone() else { return routes };
    routes.layer(middleware::from_fn(move |request: Request, next: Next| {
        let gate = Gate { class: Arc::clone(&class), status: Arc::default() };
        answer(gate, request, next)
    }))
}

async fn answer(gate: Gate, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(gate.clone());
    let mut response = next.run(request).await;
    // A narrower limit inside has written its headers already.
    if let Some(status) = gate.status.get()
        && !response.headers().contains_key(LIMIT)
    {
        describe(&gate.class.policy, *status, response.headers_mut());
    }
    response
}

/// Applies the rates of apps to the routes of a router. A peer is counted before its key is checked, a key once
/// it is verified ([`admit_app`]). Of requests that are `late`, whose key may stand in the body, the peer is counted once
/// the key is known: those of servers are not limited by peer ([`exempt_peer`]), those with a public key are counted
/// before anything is recorded ([`admit_peer`]), and all others when they are answered.
pub fn limited_to_apps<S>(
    mut routes: OpenApiRouter<S>,
    rates: &AppRates,
    proxies: &TrustedProxies,
    late: fn(&HeaderMap) -> bool,
) -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    openapi::describe_rate_limit(routes.get_openapi_mut());
    let (rates, proxies) = (rates.clone(), proxies.clone());
    routes.layer(middleware::from_fn(move |request: Request, next: Next| {
        let gate = |class: &Option<Arc<Class>>| {
            class.clone().map(|class| Gate { class, status: Arc::default() })
        };
        let client = Client::of(request.extensions(), request.headers(), &proxies);
        let peer = client.0.zip(gate(&rates.peer)).map(|(client, gate)| PeerGate {
            client,
            gate,
            is_late: late(request.headers()),
            is_exempt: Arc::default(),
        });
        answer_app(peer, gate(&rates.key), request, next)
    }))
}

/// The bucket of the peer that sent a request.
#[derive(Debug, Clone)]
struct PeerGate {
    client: PeerKey,
    gate: Gate,
    /// Whether the peer is counted once the key is known.
    is_late: bool,
    /// Set once the key is known to be a server's.
    is_exempt: Arc<AtomicBool>,
}

impl PeerGate {
    /// Counts the peer, unless it was counted or is exempt.
    fn admit(&self) -> Result<()> {
        if self.is_exempt.load(Ordering::Relaxed) || self.gate.status.get().is_some() {
            return Ok(());
        }
        self.gate.admit(self.client)
    }
}

/// The bucket of the SDK key of a request.
#[derive(Debug, Clone)]
struct AppKeyGate(Gate);

async fn answer_app(
    peer: Option<PeerGate>,
    key: Option<Gate>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(key) = &key {
        request.extensions_mut().insert(AppKeyGate(key.clone()));
    }
    if let Some(peer) = &peer {
        request.extensions_mut().insert(peer.clone());
    }
    let is_early = peer.as_ref().is_some_and(|peer| !peer.is_late);
    let admit = || peer.as_ref().map_or(Ok(()), PeerGate::admit);
    let mut response = match if is_early { admit() } else { Ok(()) } {
        Ok(()) => next.run(request).await,
        Err(refusal) => ApiError(refusal).into_response(),
    };
    // A caller without a key, or with an unknown one, is refused for the rate in the end.
    if !is_early && let Err(refusal) = admit() {
        let is_with_code = response.extensions().get::<ErrorWithCode>().is_some();
        response = ApiError(refusal).into_response();
        if is_with_code {
            response.extensions_mut().insert(ErrorWithCode);
        }
    }
    // Of the two buckets, the headers describe the one that runs out first.
    let gates = peer.into_iter().map(|peer| peer.gate).chain(key);
    let statuses = gates.filter_map(|gate| Some((*gate.status.get()?, gate.class)));
    if let Some((status, class)) = statuses.min_by_key(|(status, _)| status.remaining) {
        describe(&class.policy, status, response.headers_mut());
    }
    response
}

/// Counts the peer of a request whose key says that it is public, if its route is limited and it was not counted before.
///
/// # Errors
/// 429 when the peer's bucket is empty.
pub fn admit_peer(extensions: &Extensions) -> Result<()> {
    extensions.get::<PeerGate>().map_or(Ok(()), PeerGate::admit)
}

/// Says that the key of a request was verified and is a server's: its peer is not counted.
pub fn exempt_peer(extensions: &Extensions) {
    if let Some(peer) = extensions.get::<PeerGate>() {
        peer.is_exempt.store(true, Ordering::Relaxed);
    }
}

/// Counts a request of a verified SDK key, if its route is limited.
///
/// # Errors
/// 429 when the key's bucket is empty.
pub fn admit_app(extensions: &Extensions, key: impl Hash) -> Result<()> {
    extensions.get::<AppKeyGate>().map_or(Ok(()), |AppKeyGate(gate)| gate.admit(key))
}

/// Counts a request of a verified credential, if its route is limited.
///
/// # Errors
/// 429 when the credential's bucket is empty.
pub fn admit(extensions: &Extensions, credential: impl Hash) -> Result<()> {
    extensions.get::<Gate>().map_or(Ok(()), |gate| gate.admit(credential))
}

impl Gate {
    /// Counts a request, and stores the status of its bucket.
    fn admit(&self, by: impl Hash) -> Result<()> {
        let taken = self.class.take(by);
        let (Ok(status) | Err(status)) = taken;
        // A route that verifies twice counts twice and reports the first status.
        let _ = self.status.set(status);
        if taken.is_ok() { Ok(()) } else { Err(self.class.throttled(status)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(per_second: u32, burst: u32) -> Arc<Class> {
        RateLimit::new(RateClass::Management, Rate { per_second, burst }).0.unwrap()
    }

    #[test]
    fn a_request_over_the_burst_is_refused_with_its_wait() {
        // A token takes 1000 s to return, so that the duration of the test does not matter.
        let quota = Quota::with_period(Duration::from_secs(1000)).unwrap();
        let mut class = Arc::into_inner(class(1, 3)).unwrap();
        class.buckets =
            RateLimiter::keyed(quota.allow_burst(NonZeroU32::new(3).unwrap())).with_middleware();
        let remaining: Vec<_> = (0..3).map(|_| class.take("ann").unwrap().remaining).collect();
        assert_eq!(remaining, [2, 1, 0]);
        let refused = class.take("ann").unwrap_err();
        assert_eq!(refused.remaining, 0);
        assert!(refused.reset > Duration::from_mins(15), "{:?}", refused.reset);
        assert_eq!(class.take("bob").unwrap().remaining, 2, "each credential has its own");
    }

    #[test]
    fn headers_name_the_policy_and_never_more_than_the_limit() {
        let class = class(1000, 2000);
        let mut headers = HeaderMap::new();
        let status = class.take("ann").unwrap();
        assert_eq!(status.remaining, 1999);
        describe(&class.policy, status, &mut headers);
        let text = |name: HeaderName| headers[name].to_str().unwrap().to_owned();
        assert_eq!(text(LIMIT), "1000");
        assert_eq!(text(REMAINING), "1000");
        assert_eq!(text(RESET), "1");
        assert_eq!(text(POLICY), "\"mgmt\";q=1000;w=1");
    }

    #[test]
    fn a_rate_by_key_refuses_the_one_over_its_burst_and_no_other_key() {
        // Tokens return while the test runs, so a few more than the burst may pass.
        let rate = KeyedRate::new("test", Rate { per_second: 1, burst: 50 });
        let passed = (0..5_000).take_while(|_| rate.admit("ann").is_ok()).count();
        assert!((50..5_000).contains(&passed), "{passed}");
        assert!(rate.admit("bob").is_ok());
        assert!(rate.admit_client(Client(None)).is_ok());
        let none = KeyedRate::new("test", Rate { per_second: 0, burst: 0 });
        assert!((0..5_000).all(|_| none.admit("ann").is_ok()));
    }

    #[test]
    fn no_rate_is_no_limit_and_no_headers() {
        assert!(
            RateLimit::new(RateClass::Management, Rate { per_second: 0, burst: 0 }).0.is_none()
        );
        assert!(admit(&Extensions::new(), "ann").is_ok());
    }
}
