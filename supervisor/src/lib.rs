//! Keeps long-lived threads and tasks running.
//!
//! Each is a *worker*: it has a name, it beats while it works or waits, and it is run again after a panic. A worker is
//! alive while it runs and its last beat is not older than it may be. Whether it is shows as `millrace_worker_alive{name}`, and
//! how often it was run again as `millrace_worker_restarts_total{name}`.
//!
//! - A thread runs under [`Heartbeat::run_blocking`], a task under [`Heartbeat::run`].
//! - [`Backoff`] is the pauses between attempts.
//! - [`Suspects`] narrows repeated panics down to the one position of the spool that causes them.
//!
//! Depends on nothing of this project, so that every crate of it can use it.

#![warn(missing_docs)]

mod backoff;
mod suspects;

use std::{
    any::Any,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;
use parking_lot::Mutex;

pub use self::{
    backoff::{Backoff, doubled},
    suspects::Suspects,
};

/// The first pause before a worker is run again, before it doubles.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// Longest pause between two restarts.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// A worker that ran this long begins with the first pause again.
const STEADY: Duration = Duration::from_mins(1);
/// How often a worker beats while it waits.
const BEAT_EVERY: Duration = Duration::from_secs(1);

/// All workers of a server; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Workers(Arc<Mutex<Vec<Arc<Worker>>>>);

#[derive(Debug)]
struct Worker {
    name: &'static str,
    silence_max: Duration,
    registered: Instant,
    /// Milliseconds from `registered` to the last beat.
    beat_ms: AtomicU64,
    /// Milliseconds from `registered` to the beginning of this run.
    begun_ms: AtomicU64,
    is_running: AtomicBool,
    /// Ended in order: it is not missed.
    has_ended: AtomicBool,
    /// Panics since the last steady run.
    panics: AtomicU32,
}

impl Worker {
    fn is_alive(&self, now: Instant) -> bool {
        let beat = Duration::from_millis(self.beat_ms.load(Ordering::Relaxed));
        let silence = now.saturating_duration_since(self.registered).saturating_sub(beat);
        self.is_running.load(Ordering::Acquire) && silence <= self.silence_max
    }
}

impl Workers {
    /// Registers a worker. It is not alive before it runs, and not when it has not beaten for `silence_max`. Several
    /// may have one name, which is alive when all of them are.
    #[must_use]
    pub fn register(&self, name: &'static str, silence_max: Duration) -> Heartbeat {
        let worker = Arc::new(Worker {
            name,
            silence_max,
            registered: Instant::now(),
            beat_ms: AtomicU64::new(0),
            begun_ms: AtomicU64::new(0),
            is_running: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            panics: AtomicU32::new(0),
        });
        let mut workers = self.0.lock();
        workers.retain(|worker| !worker.has_ended.load(Ordering::Acquire));
        workers.push(Arc::clone(&worker));
        Heartbeat(worker)
    }

    /// The name of a worker that should be alive and is not, among those `is_asked` names.
    pub fn find_dead(&self, is_asked: impl Fn(&str) -> bool) -> Option<&'static str> {
        self.find_dead_at(Instant::now(), is_asked)
    }

    fn find_dead_at(&self, now: Instant, is_asked: impl Fn(&str) -> bool) -> Option<&'static str> {
        let workers = self.0.lock();
        let dead = workers.iter().find(|worker| {
            is_asked(worker.name)
                && !worker.has_ended.load(Ordering::Acquire)
                && !worker.is_alive(now)
        });
        dead.map(|worker| worker.name)
    }

    /// Sets `millrace_worker_alive{name}` for every worker; to be called when metrics are read.
    pub fn observe(&self) {
        let (now, mut alive) = (Instant::now(), BTreeMap::new());
        for worker in self.0.lock().iter() {
            let has_ended = worker.has_ended.load(Ordering::Acquire);
            let all = alive.entry(worker.name).or_insert(true);
            *all &= worker.is_alive(now) && !has_ended;
        }
        for (name, is_alive) in alive {
            metrics_catalogue::WORKER_ALIVE.with([name]).set(f64::from(u8::from(is_alive)));
        }
    }
}

/// A worker's side: it beats, and it is run under this.
#[derive(Debug, Clone)]
pub struct Heartbeat(Arc<Worker>);

/// A worker panicked; it was logged and counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panicked {
    /// What the panic said.
    pub text: String,
}

impl Heartbeat {
    /// Says that the worker goes on. Two atomic operations.
    pub fn beat(&self) {
        let ms = u64::try_from(self.0.registered.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.beat_ms.store(ms, Ordering::Relaxed);
    }

    /// Name of the worker, as in metrics.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// Awaits what may take long in good order, as a pause or a store that is away, and beats meanwhile.
    pub async fn waiting<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        loop {
            self.beat();
            if let Ok(done) = tokio::time::timeout(BEAT_EVERY, &mut future).await {
                self.beat();
                return done;
            }
        }
    }

    /// Runs `work` once. A panic of it is logged and counted, and the worker is not alive until it runs again.
    ///
    /// # Errors
    /// When it panicked.
    pub fn attempt<T>(&self, work: impl FnOnce() -> T) -> Result<T, Panicked> {
        self.begin();
        catch_unwind(AssertUnwindSafe(work)).map_err(|panic| self.panicked(panic.as_ref()))
    }

    /// [`Heartbeat::attempt`] of a future.
    ///
    /// # Errors
    /// When it panicked.
    pub async fn attempt_async<T>(&self, work: impl Future<Output = T>) -> Result<T, Panicked> {
        self.begin();
        AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| self.panicked(panic.as_ref()))
    }

    /// Runs `work` on this thread until it returns, again after each panic.
    pub fn run_blocking(&self, mut work: impl FnMut(&Self)) {
        while self.attempt(|| work(self)).is_err() {
            std::thread::sleep(self.pause());
        }
        self.ended();
    }

    /// Runs what `work` makes until it returns, again after each panic.
    pub async fn run<F: Future<Output = ()>>(self, mut work: impl FnMut(Self) -> F) {
        while self.attempt_async(work(self.clone())).await.is_err() {
            tokio::time::sleep(self.pause()).await;
        }
        self.ended();
    }

    /// How long to wait before the next run after a panic: doubles with each panic in a row, up to a second.
    pub fn pause(&self) -> Duration {
        doubled(PAUSE_FIRST, PAUSE_MAX, self.0.panics.load(Ordering::Relaxed))
    }

    /// The worker ended in order: nothing misses it.
    pub fn ended(&self) {
        self.0.is_running.store(false, Ordering::Release);
        self.0.has_ended.store(true, Ordering::Release);
    }

    /// The worker failed to start, or cannot go on for now: it is not alive until its next attempt.
    pub fn failed(&self) {
        self.0.is_running.store(false, Ordering::Release);
    }

    fn begin(&self) {
        self.beat();
        self.0.begun_ms.store(self.0.beat_ms.load(Ordering::Relaxed), Ordering::Relaxed);
        self.0.is_running.store(true, Ordering::Release);
    }

    fn panicked(&self, panic: &(dyn Any + Send)) -> Panicked {
        let begun = Duration::from_millis(self.0.begun_ms.load(Ordering::Relaxed));
        let ran = self.0.registered.elapsed().saturating_sub(begun);
        self.0.is_running.store(false, Ordering::Release);
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a text".to_owned());
        if ran >= STEADY {
            self.0.panics.store(0, Ordering::Relaxed);
        }
        self.0.panics.fetch_add(1, Ordering::Relaxed);
        metrics_catalogue::WORKER_RESTARTS.with([self.0.name]).increment(1);
        tracing::error!(worker = self.0.name, panic = text, "a worker panicked, it is run again");
        Panicked { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_alive_while_it_runs_and_beats() {
        let workers = Workers::default();
        let heartbeat = workers.register("one", Duration::from_mins(2));
        let dead_in = |minutes, name: &'static str| {
            let then = Instant::now() + Duration::from_mins(minutes);
            workers.find_dead_at(then, |asked| name == "all" || asked == name)
        };
        assert_eq!(dead_in(0, "all"), Some("one"), "it did not run yet");
        heartbeat
            .attempt(|| {
                assert_eq!(dead_in(0, "all"), None);
                assert_eq!(dead_in(1, "all"), None);
                assert_eq!(dead_in(3, "all"), Some("one"), "it hangs");
                assert_eq!(dead_in(3, "two"), None, "another was asked for");
                let beat = heartbeat.0.beat_ms.swap(0, Ordering::Relaxed);
                heartbeat.beat();
                assert!(heartbeat.0.beat_ms.load(Ordering::Relaxed) >= beat, "it goes on");
            })
            .unwrap();
        heartbeat.ended();
        assert_eq!(workers.find_dead(|_| true), None, "one that ended in order is not missed");
    }

    #[test]
    fn a_worker_that_panics_is_run_again_until_it_returns() {
        let workers = Workers::default();
        let heartbeat = workers.register("panics", Duration::from_mins(1));
        let mut runs = 0;
        heartbeat.run_blocking(|_| {
            runs += 1;
            assert!(runs > 2, "not yet");
        });
        assert_eq!(runs, 3);
        assert_eq!(workers.find_dead(|_| true), None);
        let refused = heartbeat.attempt(|| panic!("said {}", 7)).unwrap_err();
        assert_eq!(refused.text, "said 7");
        assert!(!heartbeat.0.is_alive(Instant::now()), "between two runs it is not alive");
    }

    #[tokio::test]
    async fn a_task_that_panics_is_run_again_until_it_returns() {
        let workers = Workers::default();
        let runs = AtomicU32::new(0);
        let heartbeat = workers.register("task", Duration::from_mins(1));
        heartbeat
            .run(|heartbeat| {
                let runs = &runs;
                async move {
                    tokio::task::yield_now().await;
                    heartbeat.beat();
                    assert!(runs.fetch_add(1, Ordering::Relaxed) > 1, "not yet");
                }
            })
            .await;
        assert_eq!(runs.load(Ordering::Relaxed), 3);
    }
}
