//! How many statements run at one time: of a key, of a workspace, and of all together.
//!
//! A statement that finds no place waits, in the order of arrival. A key has so few places that it cannot fill all, and a
//! workspace with many keys cannot either.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use config::Sql;
use kernel::{KeyId, WorkspaceId};
use metrics_catalogue::handle::Gauge;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::{Code, Fault};

/// Keys and workspaces after which unused entries are removed.
const SWEEP_ABOVE: usize = 1_000;

/// The places of statements. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Slots(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    all: Arc<Semaphore>,
    keys: Shares<KeyId>,
    workspaces: Shares<WorkspaceId>,
    queries: usize,
    wait_max: Duration,
    waiting_per_key: usize,
    gauge: Gauge,
}

/// The places of each key, or of each workspace.
#[derive(Debug)]
struct Shares<K> {
    each: usize,
    shares: Mutex<HashMap<K, Arc<Share>>>,
}

#[derive(Debug)]
struct Share {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// Statements that were given up and have not ended.
    given_up: AtomicUsize,
}

/// Held while a statement runs.
#[derive(Debug)]
pub(crate) struct Slot {
    _permits: [OwnedSemaphorePermit; 3],
    /// Kept also so that their entries are not removed.
    shares: SharesTaken,
    was_given_up: bool,
    gauge: Gauge,
}

/// The share of a key, and that of its workspace.
type SharesTaken = [Arc<Share>; 2];

impl Slot {
    /// Says that its statement was given up, and runs until it ends.
    pub(crate) fn gave_up(&mut self) {
        if !std::mem::replace(&mut self.was_given_up, true) {
            for share in &self.shares {
                share.given_up.fetch_add(1, Ordering::AcqRel);
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.was_given_up {
            for share in &self.shares {
                share.given_up.fetch_sub(1, Ordering::AcqRel);
            }
        }
        self.gauge.decrement(1.0);
    }
}

/// Counts a statement that waits.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<K: Eq + Hash> Shares<K> {
    fn new(each: usize) -> Self {
        Self { each, shares: Mutex::default() }
    }

    fn of(&self, key: K) -> Arc<Share> {
        let mut shares = self.shares.lock();
        if shares.len() > SWEEP_ABOVE {
            shares.retain(|_, share| Arc::strong_count(share) > 1);
        }
        let new = || {
            let places = Arc::new(Semaphore::new(self.each));
            Arc::new(Share { places, waiting: AtomicUsize::new(0), given_up: AtomicUsize::new(0) })
        };
        Arc::clone(shares.entry(key).or_insert_with(new))
    }
}

impl Slots {
    pub(crate) fn new(settings: &Sql) -> Self {
        // Half: a workspace leaves places to others, also when its statements cannot be stopped.
        let of_workspace = settings.queries.div_ceil(2);
        Self(Arc::new(Inner {
            all: Arc::new(Semaphore::new(settings.queries)),
            keys: Shares::new(settings.queries_per_key),
            workspaces: Shares::new(of_workspace),
            queries: settings.queries,
            wait_max: Duration::from_secs(settings.wait_seconds),
            waiting_per_key: settings.waiting_per_key,
            gauge: metrics_catalogue::SQL_STATEMENTS_RUNNING.handle(),
        }))
    }

    /// Whether no statement runs.
    pub(crate) fn are_all_free(&self) -> bool {
        self.0.all.available_permits() == self.0.queries
    }

    /// A place for a statement of a key. It waits where there is none.
    pub(crate) async fn take(&self, key: KeyId, workspace: WorkspaceId) -> Result<Slot, Fault> {
        let inner = &self.0;
        let of_key = inner.keys.of(key);
        let of_workspace = inner.workspaces.of(workspace);
        let places =
            [Arc::clone(&of_key.places), Arc::clone(&of_workspace.places), Arc::clone(&inner.all)];
        let mut permits = Vec::with_capacity(places.len());
        for place in &places {
            permits.extend(Arc::clone(place).try_acquire_owned().ok());
        }
        if permits.len() < places.len() {
            permits.clear();
            permits = self.wait([&of_key, &of_workspace], places).await?;
        }
        let permits = permits.try_into().map_err(|_| busy("Too many simultaneous queries"))?;
        inner.gauge.increment(1.0);
        let gauge = inner.gauge.clone();
        let shares = [of_key, of_workspace];
        Ok(Slot { _permits: permits, shares, was_given_up: false, gauge })
    }

    async fn wait(
        &self,
        [of_key, of_workspace]: [&Share; 2],
        places: [Arc<Semaphore>; 3],
    ) -> Result<Vec<OwnedSemaphorePermit>, Fault> {
        let inner = &self.0;
        let before = of_key.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(&of_key.waiting);
        if before >= inner.waiting_per_key {
            let why = format!("{} of this key run, and {before} wait", inner.keys.each);
            return Err(too_many(&why, of_workspace));
        }
        let all = async {
            let mut permits = Vec::with_capacity(places.len());
            for place in places {
                permits.extend(place.acquire_owned().await.ok());
            }
            permits
        };
        tokio::time::timeout(inner.wait_max, all).await.map_err(|_| {
            let why = format!("there was no place within {} s", inner.wait_max.as_secs());
            too_many(&why, of_workspace)
        })
    }
}

/// A refusal, which also says what a workspace could wait for in vain.
fn too_many(why: &str, of_workspace: &Share) -> Fault {
    let given_up = match of_workspace.given_up.load(Ordering::Acquire) {
        0 => String::new(),
        count => {
            format!(
                "; {count} of this workspace were given up and keep their places until they have ended"
            )
        }
    };
    busy(&format!("Too many simultaneous queries: {why}{given_up}"))
}

fn busy(message: &str) -> Fault {
    Fault::new(Code::TooManyQueries, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(queries: usize, queries_per_key: usize, waiting_per_key: usize) -> Slots {
        Slots::new(&Sql {
            seconds: 1,
            answer_seconds: 1,
            memory_bytes: 1,
            memory_total_bytes: 1,
            result_rows: 1,
            threads: 1,
            queries_per_key,
            waiting_per_key,
            wait_seconds: 60,
            queries,
            connections_max: 1,
        })
    }

    fn workspace(number: u128) -> WorkspaceId {
        WorkspaceId::new(uuid::Uuid::from_u128(number))
    }

    #[tokio::test]
    async fn a_key_waits_for_its_own_places_and_others_do_not() {
        let places = places(8, 1, 1);
        let (ann, bob) = (KeyId::mint(), KeyId::mint());
        let held = places.take(ann, workspace(1)).await.unwrap();
        let second = places.clone();
        let waits = tokio::spawn(async move { second.take(ann, workspace(1)).await });
        let is_waiting = || places.0.keys.of(ann).waiting.load(Ordering::Acquire) == 1;
        while !is_waiting() {
            tokio::task::yield_now().await;
        }
        let refused = places.take(ann, workspace(1)).await.unwrap_err();
        assert_eq!(refused.code, Code::TooManyQueries);
        drop(places.take(bob, workspace(2)).await.unwrap());
        drop(held);
        drop(waits.await.unwrap().unwrap());
    }

    #[tokio::test]
    async fn a_workspace_with_many_keys_leaves_places_to_others() {
        let places = places(4, 4, 0);
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(places.take(KeyId::mint(), workspace(1)).await.unwrap());
        }
        assert!(places.take(KeyId::mint(), workspace(1)).await.is_err());
        for _ in 0..2 {
            held.push(places.take(KeyId::mint(), workspace(2)).await.unwrap());
        }
        assert!(places.take(KeyId::mint(), workspace(3)).await.is_err(), "all are taken");
        drop(held);
        assert!(places.take(KeyId::mint(), workspace(1)).await.is_ok());
    }

    #[tokio::test]
    async fn a_statement_that_was_given_up_costs_its_workspace_a_place_until_it_ends() {
        let places = places(4, 4, 0);
        let mut held = Vec::new();
        for _ in 0..2 {
            let mut slot = places.take(KeyId::mint(), workspace(1)).await.unwrap();
            slot.gave_up();
            slot.gave_up();
            held.push(slot);
        }
        let refused = places.take(KeyId::mint(), workspace(1)).await.unwrap_err().to_string();
        assert!(refused.contains("2 of this workspace were given up"), "{refused}");
        for _ in 0..2 {
            drop(places.take(KeyId::mint(), workspace(2)).await.unwrap());
        }
        held.pop();
        held.push(places.take(KeyId::mint(), workspace(1)).await.unwrap());
        let refused = places.take(KeyId::mint(), workspace(1)).await.unwrap_err().to_string();
        assert!(refused.contains("1 of this workspace were given up"), "{refused}");
        held.clear();
        assert!(places.are_all_free());
    }
}
