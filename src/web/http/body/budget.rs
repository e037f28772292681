//! The memory of all request bodies together, in two pools: one for callers with a verified credential, one for
//! the others. No workspace and no peer can take a whole pool. Requests do not wait for memory: without room a
//! body is answered 503 and can be sent again.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use kernel::{Error, WorkspaceId};
use metrics_catalogue::handle::{Counter, Gauge};
use parking_lot::{Mutex, RwLock};
use tokio::{sync::Semaphore, time::Instant};

use crate::http::requester::PeerKey;

/// `Retry-After` of a refused body.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Concurrent decompressions of large bodies; each needs a decoder's window beside its bytes.
const INFLATIONS_MAX: usize = 4;

/// Limits of the memory for bodies, and of the time of their arrival.
#[derive(Debug, Clone)]
pub struct BodyLimits {
    /// Bytes of all bodies of callers with a verified credential.
    pub verified_bytes: usize,
    /// Of these, bytes of one workspace.
    pub workspace_bytes: usize,
    /// Bytes of all other bodies.
    pub public_bytes: usize,
    /// Of these, bytes of one peer.
    pub peer_bytes: usize,
    /// Longest wait for the next bytes of a body.
    pub silence_max: Duration,
    /// Longest time for a whole body.
    pub arrival_max: Duration,
    /// How long a body may arrive slower than `rate_min`.
    pub grace: Duration,
    /// Least average rate after `grace`, in bytes a second; 0 for no limit.
    pub rate_min: u32,
}

impl BodyLimits {
    /// This number of bytes for each pool, without shares, and the usual times.
    pub fn of_bytes(bytes: usize) -> Self {
        Self {
            verified_bytes: bytes,
            workspace_bytes: bytes,
            public_bytes: bytes,
            peer_bytes: bytes,
            silence_max: Duration::from_secs(15),
            arrival_max: Duration::from_mins(2),
            grace: Duration::from_secs(2),
            rate_min: 1024,
        }
    }
}

/// Put into a request's extensions by the argument that verified its credential: the workspace in whose share
/// the body counts. Without it, a body counts in the public pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyOwner(pub WorkspaceId);

/// The memory for bodies, and the limits of their arrival. Clones share it.
#[derive(Debug, Clone)]
pub struct BodyBudget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: BodyLimits,
    verified: Pool,
    public: Pool,
    /// Bytes in use by workspace. Has an entry for each workspace that ever sent a body.
    workspaces: RwLock<HashMap<WorkspaceId, Arc<AtomicUsize>>>,
    /// Bytes in use by peer; peers that use none have no entry.
    peers: Mutex<HashMap<PeerKey, usize>>,
    refused_workspace: Counter,
    refused_peer: Counter,
    inflations: Semaphore,
}

/// The memory for one kind of caller.
#[derive(Debug)]
struct Pool {
    limit_bytes: usize,
    used_bytes: AtomicUsize,
    used_gauge: Gauge,
    refused: Counter,
}

impl Pool {
    fn new(limit_bytes: usize, name: &'static str) -> Self {
        metrics_catalogue::HTTP_BODY_LIMIT_BYTES.with([name]).set(as_f64(limit_bytes));
        Self {
            limit_bytes,
            used_bytes: AtomicUsize::new(0),
            used_gauge: metrics_catalogue::HTTP_BODY_USED_BYTES.with([name]),
            refused: refused(name),
        }
    }

    fn take(&self, bytes: usize) -> bool {
        let taken = add_within(&self.used_bytes, bytes, self.limit_bytes);
        if taken {
            self.used_gauge.increment(as_f64(bytes));
        } else {
            self.refused.increment(1);
        }
        taken
    }

    fn give_back(&self, bytes: usize) {
        let before = self.used_bytes.fetch_sub(bytes, Ordering::AcqRel);
        debug_assert!(before >= bytes, "gave back more than was taken");
        self.used_gauge.decrement(as_f64(bytes));
    }
}

fn refused(limit: &'static str) -> Counter {
    metrics_catalogue::HTTP_BODIES_REFUSED.with([limit])
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a double")]
fn as_f64(bytes: usize) -> f64 {
    bytes as f64
}

/// Adds unless the sum would exceed the limit. Returns whether it did.
fn add_within(used: &AtomicUsize, bytes: usize, limit: usize) -> bool {
    let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= limit);
    used.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok()
}

impl BodyBudget {
    pub fn new(limits: BodyLimits) -> Self {
        Self(Arc::new(Inner {
            verified: Pool::new(limits.verified_bytes, "verified"),
            public: Pool::new(limits.public_bytes, "public"),
            workspaces: RwLock::default(),
            peers: Mutex::default(),
            refused_workspace: refused("workspace"),
            refused_peer: refused("peer"),
            inflations: Semaphore::new(INFLATIONS_MAX),
            limits,
        }))
    }

    /// Bytes in use, of both pools.
    pub fn used_bytes(&self) -> usize {
        let used = |pool: &Pool| pool.used_bytes.load(Ordering::Acquire);
        used(&self.0.verified) + used(&self.0.public)
    }

    /// An empty hold, for a body of this workspace.
    pub(super) fn hold_for_workspace(&self, workspace: WorkspaceId) -> Held {
        let known = self.0.workspaces.read().get(&workspace).map(Arc::clone);
        let used = known
            .unwrap_or_else(|| Arc::clone(self.0.workspaces.write().entry(workspace).or_default()));
        Held { budget: self.clone(), share: Share::Workspace(used), bytes: 0 }
    }

    /// An empty hold, for a body of a caller without a verified credential.
    pub(super) fn hold_for_public(&self, peer: Option<PeerKey>) -> Held {
        Held { budget: self.clone(), share: Share::Public(peer), bytes: 0 }
    }

    /// The time limits of a body that begins now.
    pub(super) fn pace(&self) -> Pace {
        Pace { started: Instant::now(), limits: self.0.limits.clone() }
    }

    pub(super) fn inflations(&self) -> &Semaphore {
        &self.0.inflations
    }
}

/// The share of a pool in which a body counts.
#[derive(Debug)]
enum Share {
    /// The bytes that the workspace uses.
    Workspace(Arc<AtomicUsize>),
    /// The peer, if it is known.
    Public(Option<PeerKey>),
}

/// Bytes taken from a [`BodyBudget`]; returned when dropped.
#[derive(Debug)]
pub struct Held {
    budget: BodyBudget,
    share: Share,
    bytes: usize,
}

impl Held {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn budget(&self) -> &BodyBudget {
        &self.budget
    }

    /// Takes `bytes` more, or none when they do not fit.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Error> {
        self.take_share(bytes)?;
        if !self.pool().take(bytes) {
            self.give_share_back(bytes);
            return Err(no_room("Too many request bodies are in flight"));
        }
        self.bytes += bytes;
        Ok(())
    }

    fn pool(&self) -> &Pool {
        match self.share {
            Share::Workspace(_) => &self.budget.0.verified,
            Share::Public(_) => &self.budget.0.public,
        }
    }

    fn take_share(&self, bytes: usize) -> Result<(), Error> {
        let inner = &self.budget.0;
        match &self.share {
            Share::Workspace(used) => {
                if add_within(used, bytes, inner.limits.workspace_bytes) {
                    return Ok(());
                }
                inner.refused_workspace.increment(1);
                Err(no_room("Too many request bodies of this workspace are in flight"))
            }
            Share::Public(Some(peer)) => {
                let mut peers = inner.peers.lock();
                let used = peers.get(peer).copied().unwrap_or_default();
                let sum = used.checked_add(bytes).filter(|sum| *sum <= inner.limits.peer_bytes);
                if let Some(sum) = sum {
                    peers.insert(*peer, sum);
                    return Ok(());
                }
                inner.refused_peer.increment(1);
                Err(no_room("Too many request bodies of this address are in flight"))
            }
            Share::Public(None) => Ok(()),
        }
    }

    fn give_share_back(&self, bytes: usize) {
        match &self.share {
            Share::Workspace(used) => {
                used.fetch_sub(bytes, Ordering::AcqRel);
            }
            Share::Public(Some(peer)) => {
                let mut peers = self.budget.0.peers.lock();
                if let Some(used) = peers.get_mut(peer) {
                    *used = used.saturating_sub(bytes);
                    if *used == 0 {
                        peers.remove(peer);
                    }
                }
            }
            Share::Public(None) => {}
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.pool().give_back(self.bytes);
            self.give_share_back(self.bytes);
        }
    }
}

fn no_room(what: &'static str) -> Error {
    Error::Unavailable { what, retry_after: Some(RETRY_AFTER) }
}

/// The time limits of a body, given the bytes received so far.
#[derive(Debug)]
pub(super) struct Pace {
    started: Instant,
    limits: BodyLimits,
}

impl Pace {
    /// The time by which the next bytes must arrive, and the limit that applies.
    pub(super) fn deadline(&self, now: Instant, received: usize) -> (Instant, &'static str) {
        let limits = &self.limits;
        let silent = (now + limits.silence_max, "silence");
        let whole = (self.started + limits.arrival_max, "total");
        let mut first = if silent.0 < whole.0 { silent } else { whole };
        if limits.rate_min > 0 {
            let earned = as_f64(received) / f64::from(limits.rate_min);
            // A time beyond the limit for the whole body has no effect.
            let earned = Duration::try_from_secs_f64(earned).unwrap_or(limits.arrival_max);
            let slow = self.started + limits.grace + earned.min(limits.arrival_max);
            if slow < first.0 {
                first = (slow, "rate");
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> PeerKey {
        PeerKey::of(text.parse().unwrap())
    }

    fn workspace(number: u128) -> WorkspaceId {
        WorkspaceId::new(uuid::Uuid::from_u128(number))
    }

    fn refusal(grown: Result<(), Error>) -> String {
        grown.unwrap_err().to_string()
    }

    #[test]
    fn bytes_that_do_not_fit_are_refused_and_dropped_ones_returned() {
        let budget = BodyBudget::new(BodyLimits::of_bytes(100));
        let mut first = budget.hold_for_public(None);
        first.grow(60).unwrap();
        let mut second = budget.hold_for_public(None);
        assert!(matches!(second.grow(41), Err(Error::Unavailable { .. })));
        assert_eq!(second.bytes(), 0);
        second.grow(40).unwrap();
        drop(first);
        assert_eq!(budget.used_bytes(), 40);
        drop(second);
        assert_eq!(budget.used_bytes(), 0);
        assert!(budget.hold_for_public(None).grow(usize::MAX).is_err());
    }

    #[test]
    fn the_public_takes_nothing_from_callers_with_a_credential() {
        let budget = BodyBudget::new(BodyLimits::of_bytes(100));
        let mut public = budget.hold_for_public(Some(peer("192.0.2.1")));
        public.grow(100).unwrap();
        assert!(public.grow(1).is_err());
        let mut verified = budget.hold_for_workspace(workspace(1));
        verified.grow(100).unwrap();
        assert!(verified.grow(1).is_err());
    }

    #[test]
    fn a_peer_has_a_share_of_what_is_for_the_public() {
        let limits = BodyLimits { peer_bytes: 30, ..BodyLimits::of_bytes(100) };
        let budget = BodyBudget::new(limits);
        let mut first = budget.hold_for_public(Some(peer("2001:db8::1")));
        first.grow(20).unwrap();
        let mut same_network = budget.hold_for_public(Some(peer("2001:db8::2")));
        let message = "Too many request bodies of this address are in flight";
        assert_eq!(refusal(same_network.grow(11)), message);
        same_network.grow(10).unwrap();
        let mut other = budget.hold_for_public(Some(peer("2001:db8:0:1::1")));
        other.grow(30).unwrap();
        drop((first, same_network));
        assert_eq!(budget.used_bytes(), 30);
        budget.hold_for_public(Some(peer("2001:db8::1"))).grow(30).unwrap();
        drop(other);
        assert!(budget.0.peers.lock().is_empty(), "peers that hold nothing are forgotten");
    }

    #[test]
    fn a_workspace_has_a_share_of_what_is_for_verified_callers() {
        let limits = BodyLimits { workspace_bytes: 75, ..BodyLimits::of_bytes(100) };
        let budget = BodyBudget::new(limits);
        let mut first = budget.hold_for_workspace(workspace(1));
        first.grow(70).unwrap();
        let mut same = budget.hold_for_workspace(workspace(1));
        let message = "Too many request bodies of this workspace are in flight";
        assert_eq!(refusal(same.grow(6)), message);
        same.grow(5).unwrap();
        let mut other = budget.hold_for_workspace(workspace(2));
        assert_eq!(refusal(other.grow(26)), "Too many request bodies are in flight");
        other.grow(25).unwrap();
        // Bytes refused by the pool do not count in the share.
        drop(first);
        other.grow(50).unwrap();
        drop((same, other));
        assert_eq!(budget.used_bytes(), 0);
        budget.hold_for_workspace(workspace(2)).grow(75).unwrap();
    }

    #[test]
    fn many_threads_never_take_more_than_there_is() {
        let limits = BodyLimits { peer_bytes: 900, ..BodyLimits::of_bytes(1_000) };
        let budget = BodyBudget::new(limits);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let budget = &budget;
                scope.spawn(move || {
                    let from = if thread % 2 == 0 { "192.0.2.1" } else { "192.0.2.2" };
                    for _ in 0..2_000 {
                        let mut held = budget.hold_for_public(Some(peer(from)));
                        let _ = held.grow(400);
                        assert!(budget.used_bytes() <= 1_000);
                    }
                });
            }
        });
        assert_eq!(budget.used_bytes(), 0);
        assert!(budget.0.peers.lock().is_empty());
    }

    #[test]
    fn a_body_must_keep_its_least_rate_after_the_grace() {
        let pace = BodyBudget::new(BodyLimits::of_bytes(100)).pace();
        let deadline = |at_s, received| {
            let now = pace.started + Duration::from_secs(at_s);
            let (by, limit) = pace.deadline(now, received);
            ((by - pace.started).as_secs(), limit)
        };
        assert_eq!(deadline(0, 0), (2, "rate"));
        assert_eq!(deadline(0, 1024), (3, "rate"));
        assert_eq!(deadline(0, 12 << 10), (14, "rate"));
        assert_eq!(deadline(0, 14 << 10), (15, "silence"));
        assert_eq!(deadline(110, 10 << 20), (120, "total"));
        assert_eq!(deadline(110, usize::MAX), (120, "total"));
    }

    #[test]
    fn no_least_rate_is_no_limit() {
        let limits = BodyLimits { rate_min: 0, ..BodyLimits::of_bytes(100) };
        let pace = BodyBudget::new(limits).pace();
        assert_eq!(pace.deadline(pace.started, 0).1, "silence");
    }
}
