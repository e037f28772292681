//! The load itself: connections on threads of their own, driven by one schedule.

mod connection;
mod pace;
mod tally;
#[cfg(test)]
mod tests;

use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, atomic::AtomicU64},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use tokio::task::LocalSet;

pub use pace::{Pace, Ticket};
pub use tally::{Counts, Latencies, Quantiles, Tally};

use crate::{
    api::{Intake, LoadRequests},
    journal::Journal,
    source::EventSource,
    target::{ApiKey, Endpoint},
};

/// What to send, where, how fast and how stubbornly.
pub struct LoadOptions {
    /// Where the API listens.
    pub endpoint: Endpoint,
    /// What takes the load there.
    pub intake: Intake,
    pub source: Arc<dyn EventSource>,
    /// Where sent and acknowledged ids are written.
    pub journal: Option<Arc<Journal>>,
    pub connections: usize,
    /// Threads they are spread over.
    pub threads: usize,
    /// Requests a second; `None` for flat out.
    pub requests_per_second: Option<f64>,
    /// When to stop; `None` for when the source ends.
    pub duration: Option<Duration>,
    /// Share of requests that send an earlier batch again.
    pub repeats: f64,
    /// How long a server that is gone is waited for; zero ends the run at once.
    pub ride_out: Duration,
    /// Decides which requests are repeats.
    pub seed: u64,
}

impl std::fmt::Debug for LoadOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadOptions")
            .field("endpoint", &self.endpoint)
            .field("connections", &self.connections)
            .field("requests_per_second", &self.requests_per_second)
            .finish_non_exhaustive()
    }
}

impl LoadOptions {
    /// Flat out to Millrace over a few connections until the source ends; the fields are there to be changed.
    pub fn new(endpoint: Endpoint, key: ApiKey, source: Arc<dyn EventSource>) -> Self {
        Self::to(endpoint, Intake::Track(key), source)
    }

    /// The same to any intake.
    pub fn to(endpoint: Endpoint, intake: Intake, source: Arc<dyn EventSource>) -> Self {
        Self {
            endpoint,
            intake,
            source,
            journal: None,
            connections: 4,
            threads: 1,
            requests_per_second: None,
            duration: None,
            repeats: 0.0,
            ride_out: Duration::ZERO,
            seed: 1,
        }
    }
}

/// What the connections of a run share.
struct Run {
    endpoint: Endpoint,
    requests: LoadRequests,
    source: Arc<dyn EventSource>,
    journal: Option<Arc<Journal>>,
    pace: Arc<Pace>,
    tally: Arc<Tally>,
    next_batch: AtomicU64,
    repeats: f64,
    ride_out: Duration,
    seed: u64,
}

/// A run under way.
#[derive(Debug)]
pub struct Load {
    started: Instant,
    pace: Arc<Pace>,
    tally: Arc<Tally>,
    threads: Vec<thread::JoinHandle<(Latencies, Result<()>)>>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// From the first request's due time to the last answer.
    pub elapsed: Duration,
    pub counts: Counts,
    /// Acknowledgement latencies, from each request's due time.
    pub latencies: Latencies,
    /// The first thing that went wrong, if anything did.
    pub first_error: Option<String>,
    /// What ended the run before its time.
    pub aborted: Option<anyhow::Error>,
}

impl Load {
    /// Starts the threads.
    ///
    /// # Errors
    /// A key that cannot be sent, or no thread to be had.
    pub fn start(options: LoadOptions) -> Result<Self> {
        let started = Instant::now();
        let pace = Arc::new(Pace::new(started, options.requests_per_second, options.duration));
        let tally = Arc::new(Tally::default());
        let connections = options.connections.max(1);
        let threads = options.threads.clamp(1, connections);
        let run = Arc::new(Run {
            requests: LoadRequests::new(&options.endpoint, &options.intake)?,
            endpoint: options.endpoint,
            source: options.source,
            journal: options.journal,
            pace: Arc::clone(&pace),
            tally: Arc::clone(&tally),
            next_batch: AtomicU64::new(0),
            repeats: options.repeats,
            ride_out: options.ride_out,
            seed: options.seed,
        });
        let spawn = |index: usize| {
            let run = Arc::clone(&run);
            let share = connections / threads + usize::from(index < connections % threads);
            let body = move || run_thread(&run, share);
            thread::Builder::new()
                .name(format!("load-{index}"))
                .spawn(body)
                .context("cannot start a thread")
        };
        let threads = (0..threads).map(spawn).collect::<Result<_>>()?;
        Ok(Self { started, pace, tally, threads })
    }

    pub fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.tally)
    }

    /// The schedule, to stop the run by.
    pub fn pace(&self) -> Arc<Pace> {
        Arc::clone(&self.pace)
    }

    /// Whether every connection has ended.
    pub fn finished(&self) -> bool {
        self.threads.iter().all(thread::JoinHandle::is_finished)
    }

    /// Waits for the end, blocking the calling thread.
    pub fn join(self) -> Outcome {
        let mut latencies = Latencies::default();
        let mut aborted = None;
        for thread in self.threads {
            match thread.join() {
                Ok((recorded, result)) => {
                    latencies.add(&recorded);
                    aborted = aborted.or(result.err());
                }
                Err(_) => aborted = aborted.or_else(|| Some(anyhow!("a load thread panicked"))),
            }
        }
        Outcome {
            elapsed: self.started.elapsed(),
            counts: self.tally.counts(),
            first_error: self.tally.first_error(),
            latencies,
            aborted,
        }
    }
}

/// Drives one thread's share of the connections; the first fatal error stops the whole run.
fn run_thread(run: &Arc<Run>, connections: usize) -> (Latencies, Result<()>) {
    let latencies = Rc::new(RefCell::new(Latencies::default()));
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return (Latencies::default(), Err(error.into())),
    };
    let local = LocalSet::new();
    let mut tasks = Vec::with_capacity(connections);
    for _ in 0..connections {
        let (run, latencies) = (Arc::clone(run), Rc::clone(&latencies));
        tasks.push(local.spawn_local(async move {
            let result = connection::drive(&run, latencies).await;
            if result.is_err() {
                run.pace.stop();
            }
            result
        }));
    }
    let result = runtime.block_on(local.run_until(async {
        let mut result = Ok(());
        for task in tasks {
            let ended =
                task.await.unwrap_or_else(|panic| Err(anyhow!("a connection panicked: {panic}")));
            result = result.and(ended);
        }
        result
    }));
    let recorded = latencies.borrow().clone();
    (recorded, result)
}
