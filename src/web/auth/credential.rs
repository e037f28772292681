//! Verified keys, and the cache that keeps PostgreSQL out of the hot path.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use kernel::{KeyId, OrganizationId, Timestamp, WorkspaceId};
use parking_lot::RwLock;

use super::{
    scope::ScopeSet,
    token::{KeyKind, SecretHash},
};

/// Most keys in the cache.
const KEYS_CACHED_MAX: usize = 10_000;
/// Most ids in the cache that are known to belong to no key.
const UNKNOWN_CACHED_MAX: usize = 4_096;
/// How long an id is remembered as unknown.
const UNKNOWN_FOR: Duration = Duration::from_secs(5);
/// The value of a use that is stored already.
const UNUSED: i64 = i64::MIN;

/// A key that exists and is not revoked.
#[derive(Debug)]
pub(super) struct Credential {
    pub(super) id: KeyId,
    pub(super) kind: KeyKind,
    pub(super) hash: SecretHash,
    pub(super) scopes: ScopeSet,
    pub(super) workspace: WorkspaceId,
    pub(super) organization: OrganizationId,
    pub(super) currency: Option<String>,
    pub(super) timezone: String,
    /// Shared with the credential that replaces this one in a refresh.
    pub(super) used_ms: Arc<Used>,
}

/// The last use of a key, until it is stored.
#[derive(Debug)]
pub(super) struct Used(AtomicI64);

impl Used {
    pub(super) fn not_yet() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(UNUSED)))
    }

    pub(super) fn note(&self, now: Timestamp) {
        self.0.store(now.millis(), Ordering::Relaxed);
    }

    /// Restores a use that could not be stored, unless there was a later one.
    pub(super) fn restore_if_unused(&self, at: Timestamp) {
        let _ = self.0.compare_exchange(UNUSED, at.millis(), Ordering::Relaxed, Ordering::Relaxed);
    }

    fn take(&self) -> Option<Timestamp> {
        let ms = self.0.swap(UNUSED, Ordering::Relaxed);
        (ms != UNUSED).then(|| Timestamp::from_millis(ms))
    }
}

/// The cache's answer for an id.
#[derive(Debug)]
pub(super) enum Cached {
    /// A live key, and the time since PostgreSQL last confirmed it.
    Known(Arc<Credential>, Duration),
    /// The id belonged to no key a moment ago.
    Unknown,
    Missing,
}

/// Keys by id. A lookup that began before a refresh may not write into the cache after it: it may have read the
/// key before its revocation.
#[derive(Debug, Default)]
pub(super) struct Cache(RwLock<Entries>);

#[derive(Debug, Default)]
struct Entries {
    known: HashMap<KeyId, Known>,
    /// When PostgreSQL last confirmed that no key has changed.
    confirmed: Option<Instant>,
    unknown: HashMap<KeyId, Instant>,
    generation: Generation,
}

/// A live key, and the time when PostgreSQL was asked for it.
#[derive(Debug)]
struct Known {
    credential: Arc<Credential>,
    confirmed: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Generation(u64);

impl Cache {
    pub(super) fn get(&self, id: &KeyId) -> Cached {
        let entries = self.0.read();
        if let Some(known) = entries.known.get(id) {
            let confirmed = entries.confirmed.map_or(known.confirmed, |it| it.max(known.confirmed));
            return Cached::Known(Arc::clone(&known.credential), confirmed.elapsed());
        }
        match entries.unknown.get(id) {
            Some(since) if since.elapsed() < UNKNOWN_FOR => Cached::Unknown,
            _ => Cached::Missing,
        }
    }

    /// Whether the cache has no key that could be revoked.
    pub(super) fn is_empty(&self) -> bool {
        self.0.read().known.is_empty()
    }

    /// Must be read before a lookup begins.
    pub(super) fn generation(&self) -> Generation {
        self.0.read().generation
    }

    /// Stores the result of a lookup that began at `asked`, unless a refresh happened in between. Returns whether
    /// it was stored.
    pub(super) fn admit(
        &self,
        begun: Generation,
        asked: Instant,
        id: KeyId,
        found: Option<&Arc<Credential>>,
    ) -> bool {
        let mut entries = self.0.write();
        if entries.generation != begun {
            return false;
        }
        if let Some(credential) = found {
            if entries.known.len() >= KEYS_CACHED_MAX && !entries.known.contains_key(&id) {
                entries.evict_one();
            }
            entries.unknown.remove(&id);
            let known = Known { credential: Arc::clone(credential), confirmed: asked };
            entries.known.insert(id, known);
        } else {
            entries.known.remove(&id);
            if entries.unknown.len() >= UNKNOWN_CACHED_MAX {
                entries.unknown.clear();
            }
            entries.unknown.insert(id, Instant::now());
        }
        true
    }

    /// Records that nothing had changed when PostgreSQL was asked at `asked`.
    pub(super) fn confirm(&self, asked: Instant) {
        self.0.write().confirmed = Some(asked);
    }

    /// Begins a refresh. Returns the ids to look up again.
    pub(super) fn begin_refresh(&self) -> Vec<KeyId> {
        let mut entries = self.0.write();
        entries.generation.0 += 1;
        entries.known.keys().copied().collect()
    }

    /// Ends a refresh that began at `begun`: of the ids asked for, live keys are replaced and the others removed.
    pub(super) fn end_refresh(&self, begun: Instant, asked: &[KeyId], alive: Vec<Credential>) {
        let mut entries = self.0.write();
        entries.confirmed = Some(begun);
        let mut alive: HashMap<KeyId, Credential> =
            alive.into_iter().map(|credential| (credential.id, credential)).collect();
        for id in asked {
            let Some(old) = entries.known.remove(id) else { continue };
            if let Some(new) = alive.remove(id) {
                let used_ms = Arc::clone(&old.credential.used_ms);
                let credential = Arc::new(Credential { used_ms, ..new });
                entries.known.insert(*id, Known { credential, confirmed: begun });
            }
        }
    }

    /// The uses that are not stored yet; they count as stored from here on.
    pub(super) fn take_uses(&self) -> Vec<(Arc<Credential>, Timestamp)> {
        let entries = self.0.read();
        let used = |Known { credential, .. }: &Known| {
            credential.used_ms.take().map(|at| (Arc::clone(credential), at))
        };
        entries.known.values().filter_map(used).collect()
    }
}

impl Entries {
    /// Removes any entry. Which one matters little: it is looked up again when it is used.
    fn evict_one(&mut self) {
        if let Some(id) = self.known.keys().next().copied() {
            self.known.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(id: KeyId, scopes: &str) -> Credential {
        Credential {
            id,
            kind: KeyKind::Api,
            hash: SecretHash([0; 32]),
            scopes: scopes.parse().unwrap(),
            workspace: WorkspaceId::new(uuid::Uuid::nil()),
            organization: OrganizationId::new(uuid::Uuid::nil()),
            currency: None,
            timezone: "UTC".to_owned(),
            used_ms: Used::not_yet(),
        }
    }

    fn admit(cache: &Cache, id: KeyId) -> Arc<Credential> {
        let credential = Arc::new(credential(id, "*"));
        assert!(cache.admit(cache.generation(), Instant::now(), id, Some(&credential)));
        credential
    }

    #[test]
    fn a_refresh_removes_revoked_keys_and_replaces_changed_ones() {
        let (cache, alive, revoked) = (Cache::default(), KeyId::mint(), KeyId::mint());
        admit(&cache, alive).used_ms.note(Timestamp::from_millis(5));
        admit(&cache, revoked);
        let asked = cache.begin_refresh();
        assert_eq!(asked.len(), 2);
        cache.end_refresh(Instant::now(), &asked, vec![credential(alive, "users:read")]);
        assert!(matches!(cache.get(&revoked), Cached::Missing));
        let Cached::Known(now, _) = cache.get(&alive) else { panic!("still lives") };
        assert_eq!(now.scopes.to_string(), "users:read");
        assert_eq!(cache.take_uses()[0].1, Timestamp::from_millis(5));
    }

    #[test]
    fn a_lookup_overtaken_by_a_refresh_is_not_stored() {
        let (cache, id) = (Cache::default(), KeyId::mint());
        let begun = cache.generation();
        let asked = cache.begin_refresh();
        cache.end_refresh(Instant::now(), &asked, Vec::new());
        assert!(!cache.admit(begun, Instant::now(), id, Some(&Arc::new(credential(id, "*")))));
        assert!(matches!(cache.get(&id), Cached::Missing));
    }

    #[test]
    fn both_halves_are_bounded() {
        let cache = Cache::default();
        for _ in 0..KEYS_CACHED_MAX + 10 {
            admit(&cache, KeyId::mint());
        }
        for _ in 0..UNKNOWN_CACHED_MAX * 2 {
            assert!(cache.admit(cache.generation(), Instant::now(), KeyId::mint(), None));
        }
        let entries = cache.0.read();
        assert_eq!(entries.known.len(), KEYS_CACHED_MAX);
        assert!(entries.unknown.len() <= UNKNOWN_CACHED_MAX);
    }

    #[test]
    fn an_unknown_id_is_remembered_until_its_key_exists() {
        let (cache, id) = (Cache::default(), KeyId::mint());
        assert!(cache.admit(cache.generation(), Instant::now(), id, None));
        assert!(matches!(cache.get(&id), Cached::Unknown));
        admit(&cache, id);
        assert!(matches!(cache.get(&id), Cached::Known(..)));
    }

    #[test]
    fn a_key_is_confirmed_by_its_own_look_up_or_by_a_later_answer_for_all() {
        let (cache, id) = (Cache::default(), KeyId::mint());
        let long_ago = Instant::now().checked_sub(Duration::from_hours(1)).unwrap();
        let key = Arc::new(credential(id, "*"));
        assert!(cache.admit(cache.generation(), long_ago, id, Some(&key)));
        let age = || match cache.get(&id) {
            Cached::Known(_, age) => age,
            other => panic!("{other:?}"),
        };
        assert!(age() >= Duration::from_hours(1));
        let later = long_ago + Duration::from_mins(30);
        cache.confirm(later);
        assert!((Duration::from_mins(30)..Duration::from_hours(1)).contains(&age()));
        cache.end_refresh(Instant::now(), &[id], vec![credential(id, "*")]);
        assert!(age() < Duration::from_mins(30));
        // A key that was removed meanwhile is not confirmed.
        assert!(cache.admit(cache.generation(), Instant::now(), id, None));
        assert!(matches!(cache.get(&id), Cached::Unknown));
    }

    #[test]
    fn a_use_is_returned_once() {
        let (cache, id) = (Cache::default(), KeyId::mint());
        admit(&cache, id).used_ms.note(Timestamp::from_millis(9));
        assert_eq!(cache.take_uses().len(), 1);
        assert!(cache.take_uses().is_empty());
    }
}
