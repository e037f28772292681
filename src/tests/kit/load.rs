//! Events that are posted while a test kills and starts what stores them.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{Client, eventually};

/// Events in one request.
const BATCH: u64 = 20;
/// Clients that post at the same time.
const CLIENTS: usize = 4;
/// Pause of a client after each request: what there is to read back must stay little while an engine starts.
const PAUSE: Duration = Duration::from_millis(40);

/// Clients that post batches until they are stopped. A batch without an answer is sent again with the same ids, as a
/// careful producer does.
#[derive(Debug)]
pub(crate) struct Load {
    state: Arc<State>,
    clients: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    /// Makes the event with this number; its `clientEventId` is unique.
    event: fn(u64) -> Value,
    next: AtomicU64,
    acknowledged: Mutex<BTreeSet<String>>,
    done: AtomicBool,
    target: Mutex<Option<Client>>,
}

impl Load {
    /// Begins to post to a server.
    pub(crate) fn start(target: Client, event: fn(u64) -> Value) -> Self {
        let state = Arc::new(State {
            event,
            next: AtomicU64::new(0),
            acknowledged: Mutex::default(),
            done: AtomicBool::new(false),
            target: Mutex::new(Some(target)),
        });
        let client = |_| tokio::spawn(Arc::clone(&state).run());
        let clients = (0..CLIENTS).map(client).collect();
        Self { state, clients }
    }

    /// Posts to another server, or to none until there is one.
    pub(crate) fn set_target(&self, client: Option<Client>) {
        *self.state.target.lock() = client;
    }

    /// The ids that were acknowledged so far.
    pub(crate) fn acknowledged(&self) -> BTreeSet<String> {
        self.state.acknowledged.lock().clone()
    }

    /// Waits until so many more events are acknowledged.
    pub(crate) async fn grow_by(&self, by: usize) {
        let count = || self.state.acknowledged.lock().len();
        let goal = count() + by;
        eventually("the load continues", || async { (count() >= goal).then_some(()) }).await;
    }

    /// Stops the clients. Returns the ids of all acknowledged events.
    pub(crate) async fn finish(self) -> BTreeSet<String> {
        self.state.done.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.unwrap();
        }
        std::mem::take(&mut *self.state.acknowledged.lock())
    }
}

impl State {
    async fn run(self: Arc<Self>) {
        while !self.done.load(Ordering::Relaxed) {
            let first = self.next.fetch_add(BATCH, Ordering::Relaxed);
            let events: Vec<Value> = (first..first + BATCH).map(self.event).collect();
            while !self.posted(&events).await {
                if self.done.load(Ordering::Relaxed) {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            }
            let ids =
                events.iter().map(|event| event["clientEventId"].as_str().unwrap().to_owned());
            self.acknowledged.lock().extend(ids);
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn posted(&self, events: &[Value]) -> bool {
        let client = self.target.lock().clone();
        let Some(client) = client else { return false };
        let request = client.request(reqwest::Method::POST, "/events/track").json(events);
        request.send().await.is_ok_and(|answer| answer.status().is_success())
    }
}
