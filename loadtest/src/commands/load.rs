//! `generate` and `replay`: load with a live line, and a report of it.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use tokio::{task::JoinHandle, time};

use super::{
    Ending, LoadArguments, TargetArguments,
    load_report::{LoadReport, RunFacts, VisibilityFigures},
};
use crate::{
    clock,
    journal::Journal,
    load::{Load, LoadOptions},
    probe::{Probe, Visibility},
    progress::{self, Progress},
    report,
    scrape::{Sample, Scraper, ServerFigures},
    source::{EVENTS_PER_REQUEST_MAX, EventSource, Generator, GeneratorOptions, Replay},
};

/// The admin listener is scraped this often while load runs.
const SCRAPE_INTERVAL: Duration = Duration::from_secs(1);
/// And this often while the backlog drains.
const DRAIN_SCRAPE_INTERVAL: Duration = Duration::from_millis(50);
/// Longest wait for the backlog.
const DRAIN_PATIENCE: Duration = Duration::from_mins(5);
/// Length of a generated run that was given no end.
const DEFAULT_SECONDS: f64 = 10.0;
const DAY_MS: f64 = 86_400_000.0;

#[derive(Args, Debug)]
pub struct GenerateArguments {
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    load: LoadArguments,
    /// Events in a request; 1 posts single objects
    #[arg(long, default_value_t = EVENTS_PER_REQUEST_MAX)]
    batch: usize,
    /// Stop after this many events
    #[arg(long)]
    events: Option<u64>,
    /// Distinct users of the events
    #[arg(long, default_value_t = 100_000)]
    users: u64,
    /// Leave the time to the server
    #[arg(long)]
    no_timestamps: bool,
    /// Spread timestamps over this many days before now
    #[arg(long, default_value_t = 1.0)]
    days: f64,
    /// Name of the run, part of every event id: letters and digits; the same name, seed and base time send the same events
    #[arg(long)]
    run: Option<String>,
    /// Newest timestamp, milliseconds since the epoch, instead of now
    #[arg(long)]
    base_time: Option<i64>,
}

#[derive(Args, Debug)]
pub struct ReplayArguments {
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    load: LoadArguments,
    /// File of JSON lines, one event each
    file: PathBuf,
    /// Events in a request; 1 posts single objects
    #[arg(long, default_value_t = EVENTS_PER_REQUEST_MAX)]
    batch: usize,
    /// Replay the file this often, with clientEventIds of its own each time
    #[arg(long, default_value_t = 1)]
    repeat: u64,
}

/// A name for this run that no earlier one had.
pub(super) fn fresh_run_name() -> String {
    format!("{:x}{:x}", clock::now_ms(), std::process::id())
}

pub(super) async fn generate(arguments: GenerateArguments) -> Result<Ending> {
    let GenerateArguments {
        target,
        mut load,
        batch,
        events,
        users,
        no_timestamps,
        days,
        run,
        base_time,
    } = arguments;
    if load.duration.is_none() && events.is_none() {
        load.duration = Some(DEFAULT_SECONDS);
    }
    ensure!(days > 0.0 && days < 36_500.0, "--days must be positive");
    #[expect(clippy::cast_possible_truncation, reason = "a hundred years of milliseconds fit")]
    let span_ms = ((days * DAY_MS) as i64).max(1);
    let source = Generator::new(GeneratorOptions {
        seed: load.seed,
        run: run.unwrap_or_else(fresh_run_name),
        batch,
        events,
        users,
        timestamps: !no_timestamps,
        until_ms: base_time.unwrap_or_else(clock::now_ms),
        span_ms,
    })?;
    Session { name: "generate", target, load, batch, source: Arc::new(source) }.run().await
}

pub(super) async fn replay(arguments: ReplayArguments) -> Result<Ending> {
    let ReplayArguments { target, load, file, batch, repeat } = arguments;
    let source = Replay::open(&file, batch, repeat)?;
    Session { name: "replay", target, load, batch, source: Arc::new(source) }.run().await
}

struct Session {
    name: &'static str,
    target: TargetArguments,
    load: LoadArguments,
    batch: usize,
    source: Arc<dyn EventSource>,
}

impl Session {
    async fn run(self) -> Result<Ending> {
        let started_at = clock::rfc3339(clock::now_ms());
        let mut scraper = self.target.admin_endpoint()?.map(Scraper::new);
        let mut figures = ServerFigures::default();
        let before = sample(&mut scraper, &mut figures).await;
        ensure!(scraper.is_none() || before.is_some(), "the admin listener does not answer");

        let options = self.options()?;
        let journal = options.journal.clone();
        let load = Load::start(options)?;
        let probe = self.start_probe(&load, journal)?;
        let mut progress = Progress::new(self.source.events());
        watch(&load, &mut scraper, &mut figures, &mut progress).await?;
        load.pace().stop();
        let outcome = tokio::task::spawn_blocking(|| load.join()).await?;

        let mut report = LoadReport::new(self.facts(started_at), &outcome);
        let after = sample(&mut scraper, &mut figures).await;
        figures.backlog_at_end_of_load = after.and_then(|after| after.backlog()).unwrap_or(0.0);
        if scraper.is_some() && !self.load.no_drain {
            progress.waiting("waiting for the backlog to drain");
            let drained = drain(&mut scraper, &mut figures).await;
            report.set_drained(drained);
        }
        report.server = (figures.scrapes > 0).then_some(figures);
        if let Some(probe) = probe {
            progress.waiting("waiting for the last markers to be seen");
            let visibility = probe.await?.context("the visibility probe failed")?;
            report.visibility = Some(VisibilityFigures::of(&visibility));
        }
        progress.finish();
        report::publish(&report, self.load.json.as_deref())?;
        if let Some(error) = &outcome.aborted {
            anyhow::bail!("the run was ended early: {error:#}");
        }
        Ok(Ending::good_if(report.is_good()))
    }

    fn facts(&self, started_at: String) -> RunFacts {
        RunFacts {
            command: self.name,
            started_at,
            batch: self.batch,
            connections: self.load.connections,
            rate: self.load.rate,
            retries: self.load.retries,
        }
    }

    fn options(&self) -> Result<LoadOptions> {
        let load = &self.load;
        ensure!(load.rate.is_none_or(|rate| rate > 0.0), "--rate must be positive");
        ensure!((0.0..1.0).contains(&load.retries), "--retries is a share from 0 to below 1");
        let seconds = |value: f64| {
            Duration::try_from_secs_f64(value).context("a number of seconds is not negative")
        };
        let journal = load.journal.as_deref().map(Journal::open).transpose()?;
        #[expect(clippy::cast_precision_loss, reason = "at most 500")]
        let per_request = self.batch as f64;
        Ok(LoadOptions {
            journal: journal.map(Arc::new),
            connections: usize::from(load.connections),
            threads: usize::from(load.threads),
            requests_per_second: load.rate.map(|rate| rate / per_request),
            duration: load.duration.map(seconds).transpose()?,
            repeats: load.retries,
            ride_out: load.ride_out.map_or(Ok(Duration::ZERO), seconds)?,
            seed: load.seed,
            ..LoadOptions::new(
                self.target.endpoint()?,
                self.target.key()?,
                Arc::clone(&self.source),
            )
        })
    }

    fn start_probe(
        &self,
        load: &Load,
        journal: Option<Arc<Journal>>,
    ) -> Result<Option<JoinHandle<Result<Visibility>>>> {
        if !self.load.probe {
            return Ok(None);
        }
        let probe = Probe::new(self.target.api()?, self.target.api()?, &fresh_run_name(), journal);
        Ok(Some(tokio::spawn(probe.run(load.pace()))))
    }
}

/// Shows the live line until the load has ended; Ctrl-C ends it.
async fn watch(
    load: &Load,
    scraper: &mut Option<Scraper>,
    figures: &mut ServerFigures,
    progress: &mut Progress,
) -> Result<()> {
    let (tally, pace) = (load.tally(), load.pace());
    let mut ticks = time::interval(progress::REFRESH);
    ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    let mut last_scrape = Instant::now();
    let mut last = None;
    while !load.finished() {
        tokio::select! {
            _ = ticks.tick() => {}
            signal = tokio::signal::ctrl_c() => {
                signal?;
                pace.stop();
            }
        }
        if last_scrape.elapsed() >= SCRAPE_INTERVAL {
            last_scrape = Instant::now();
            last = sample(scraper, figures).await;
        }
        progress.show(tally.counts(), last);
    }
    Ok(())
}

/// One scrape; a server that does not answer just then is no reason to end a run.
pub(super) async fn sample(
    scraper: &mut Option<Scraper>,
    figures: &mut ServerFigures,
) -> Option<Sample> {
    let sample = scraper.as_mut()?.scrape().await.ok()?;
    figures.add(sample);
    Some(sample)
}

/// Waits until nothing is waiting for ClickHouse; the time that took, `None` when it does not happen.
pub(super) async fn drain(
    scraper: &mut Option<Scraper>,
    figures: &mut ServerFigures,
) -> Option<Duration> {
    let started = Instant::now();
    while started.elapsed() < DRAIN_PATIENCE {
        let backlog = sample(scraper, figures).await.and_then(|sample| sample.backlog());
        if backlog.is_some_and(|backlog| backlog < 1.0) {
            return Some(started.elapsed());
        }
        time::sleep(DRAIN_SCRAPE_INTERVAL).await;
    }
    None
}
