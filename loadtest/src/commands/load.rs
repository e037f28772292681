//! `generate` and `replay`: load with a live line, and a report of it.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;
use tokio::{task::JoinHandle, time};

use super::{Ending, LoadArguments, TargetArguments};
use crate::{
    clock,
    journal::Journal,
    load::{Counts, Load, LoadOptions, Outcome, Quantiles},
    probe::{Probe, Visibility},
    progress::{self, Progress},
    report::{self, Report, Table},
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

/// Arguments of `generate`.
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
    /// Distinct users
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

/// Arguments of `replay`.
#[derive(Args, Debug)]
pub struct ReplayArguments {
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    load: LoadArguments,
    /// The file
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

        let mut report = LoadReport::new(&self, started_at, &outcome);
        let after = sample(&mut scraper, &mut figures).await;
        figures.backlog_at_end_of_load = after.and_then(|after| after.backlog()).unwrap_or(0.0);
        if scraper.is_some() && !self.load.no_drain {
            progress.waiting("waiting for the backlog to drain");
            let drained = drain(&mut scraper, &mut figures).await;
            report.drain_seconds = drained.map(|drained| drained.as_secs_f64());
            report.landed_per_second = report.drain_seconds.map(|seconds| {
                per_second(report.counts.acknowledged, report.elapsed_seconds + seconds)
            });
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
async fn sample(scraper: &mut Option<Scraper>, figures: &mut ServerFigures) -> Option<Sample> {
    let sample = scraper.as_mut()?.scrape().await.ok()?;
    figures.add(sample);
    Some(sample)
}

/// Waits until nothing is waiting for ClickHouse; the time that took, `None` when it does not happen.
async fn drain(scraper: &mut Option<Scraper>, figures: &mut ServerFigures) -> Option<Duration> {
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

/// How soon acknowledged events could be read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VisibilityFigures {
    lag: Quantiles,
    unseen: u64,
    looks: u64,
}

impl VisibilityFigures {
    fn of(visibility: &Visibility) -> Self {
        Self { lag: visibility.lag.quantiles(), unseen: visibility.unseen, looks: visibility.looks }
    }
}

/// What a run of load came to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadReport {
    command: &'static str,
    started_at: String,
    batch: usize,
    connections: u16,
    rate: Option<f64>,
    retries: f64,
    elapsed_seconds: f64,
    counts: Counts,
    events_per_second: f64,
    megabytes_per_second: f64,
    ack_latency: Quantiles,
    visibility: Option<VisibilityFigures>,
    drain_seconds: Option<f64>,
    landed_per_second: Option<f64>,
    server: Option<ServerFigures>,
    loadtest_cpu_seconds: f64,
    first_error: Option<String>,
}

#[expect(clippy::cast_precision_loss, reason = "totals of a run are far below 2^52")]
fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

impl LoadReport {
    fn new(session: &Session, started_at: String, outcome: &Outcome) -> Self {
        let seconds = outcome.elapsed.as_secs_f64();
        let counts = outcome.counts;
        Self {
            command: session.name,
            started_at,
            batch: session.batch,
            connections: session.load.connections,
            rate: session.load.rate,
            retries: session.load.retries,
            elapsed_seconds: seconds,
            counts,
            events_per_second: per_second(counts.acknowledged + counts.repeated, seconds),
            megabytes_per_second: per_second(counts.bytes, seconds) / 1e6,
            ack_latency: outcome.latencies.quantiles(),
            visibility: None,
            drain_seconds: None,
            landed_per_second: None,
            server: None,
            loadtest_cpu_seconds: own_cpu_seconds(),
            first_error: outcome.first_error.clone(),
        }
    }

    /// Whether everything that was sent was taken.
    fn is_good(&self) -> bool {
        let counts = &self.counts;
        let unseen = self.visibility.as_ref().map_or(0, |visibility| visibility.unseen);
        counts.refused == 0 && counts.failed == 0 && counts.unacknowledged == 0 && unseen == 0
    }
}

/// CPU seconds this process has used.
fn own_cpu_seconds() -> f64 {
    use nix::sys::{
        resource::{UsageWho, getrusage},
        time::TimeValLike,
    };
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return 0.0 };
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    #[expect(
        clippy::cast_precision_loss,
        reason = "CPU time of a run in microseconds is far below 2^52"
    )]
    let seconds = micros as f64 / 1e6;
    seconds
}

/// The rows of one latency distribution.
pub(super) fn latency_row(label: &str, quantiles: &Quantiles) -> Vec<String> {
    let figures =
        [quantiles.p50_ms, quantiles.p90_ms, quantiles.p99_ms, quantiles.p999_ms, quantiles.max_ms];
    let mut row = vec![label.to_owned(), report::grouped(quantiles.count)];
    row.extend(figures.map(|figure| format!("{figure:.2}")));
    row
}

impl Report for LoadReport {
    fn tables(&self) -> Vec<Table> {
        let counts = &self.counts;
        let pace = self
            .rate
            .map_or("flat out".to_owned(), |rate| format!("{} events/s", report::rate(rate)));
        let title = format!(
            "{}: {} a request, {} connections, {pace}",
            self.command, self.batch, self.connections
        );
        let mut main = Table::pairs(&title);
        main.pair("elapsed", format!("{:.2} s", self.elapsed_seconds));
        main.pair("acknowledged", report::grouped(counts.acknowledged));
        main.pair("rate of acks", format!("{} events/s", report::rate(self.events_per_second)));
        main.pair("", format!("{:.1} MB/s", self.megabytes_per_second));
        if let Some(landed) = self.landed_per_second {
            main.pair("rate of landing", format!("{} events/s", report::rate(landed)));
        }
        if let Some(seconds) = self.drain_seconds {
            main.pair("drained after", format!("{seconds:.2} s"));
        }
        for (label, count) in [
            ("repeats acknowledged", counts.repeated),
            ("events refused", counts.refused),
            ("answers 503, sent again", counts.unavailable),
            ("other failures", counts.failed),
            ("broken connections", counts.broken),
            ("never acknowledged", counts.unacknowledged),
        ] {
            if count > 0 {
                main.pair(label, report::grouped(count));
            }
        }
        if let Some(error) = &self.first_error {
            main.pair("first error", error);
        }
        main.pair("CPU of loadtest", format!("{:.2} s", self.loadtest_cpu_seconds));
        let mut tables = vec![main, self.latency_table()];
        tables.extend(self.server.as_ref().map(server_table));
        tables
    }
}

impl LoadReport {
    fn latency_table(&self) -> Table {
        let from = if self.rate.is_some() { "when due" } else { "sending" };
        let columns = ["ms", "count", "p50", "p90", "p99", "p99.9", "max"];
        let mut table = Table::new("Latency", &columns);
        table.row(latency_row(&format!("ack, from {from}"), &self.ack_latency));
        if let Some(visibility) = &self.visibility {
            table.row(latency_row("visible after ack", &visibility.lag));
            if visibility.unseen > 0 {
                table.row(vec![format!("{} markers were never seen", visibility.unseen)]);
            }
        }
        table
    }
}

fn server_table(figures: &ServerFigures) -> Table {
    let mut table = Table::pairs("Server");
    let memory =
        [figures.resident_bytes_start, figures.resident_bytes_max, figures.resident_bytes_end];
    let [start, most, end] = memory.map(report::mib);
    table.pair("memory at start", start);
    table.pair("memory at most", most);
    table.pair("memory at end", end);
    table.pair("CPU", format!("{:.2} s", figures.cpu_seconds));
    table.pair("backlog at most", report::rate(figures.backlog_max));
    table.pair("backlog when load ended", report::rate(figures.backlog_at_end_of_load));
    table
}
