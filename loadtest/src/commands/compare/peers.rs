//! Millrace and other programs in turn: the same events, the same ClickHouse.

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use serde::Serialize;
use tokio::time;

use super::{
    super::load,
    CompareArguments, Comparison, LANDING_PATIENCE, LANDING_PAUSE, direct,
    peer::{Peer, Start},
    per_second, segment,
};
use crate::{
    api::Intake,
    load::{Load, LoadOptions, Outcome},
    report::{self, Report, Table},
    source::{EventSource, Generator, GeneratorOptions, Held},
    target::Endpoint,
};

/// The name under which Millrace itself is compared by Segment's protocol.
const SEGMENT: &str = "segment";
/// Connections of all load on peers and, beside them, on Millrace.
const CONNECTIONS: usize = 64;
/// Rate of the single events whose latency is measured, a second.
const SINGLES_RATE: f64 = 1_000.0;
/// `USER_HZ` of Linux on all architectures that Rust's tier 1 has.
const TICKS_PER_SECOND: f64 = 100.0;
/// More single events a second than any side takes.
const SINGLES_RATE_MAX: f64 = 60_000.0;

/// Where one side takes events.
struct Side {
    endpoint: Endpoint,
    batches: Intake,
    singles: Intake,
    process_id: Option<u32>,
}

/// What one side did in a round; rates are events a second.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    side: String,
    batches_acknowledged: f64,
    batches_stored: f64,
    /// Requests with batches that were refused, or whose connection broke; their events are not sent again.
    batches_failed: u64,
    singles: f64,
    singles_p50_ms: f64,
    singles_p99_ms: f64,
    /// Of the program, ClickHouse apart, for each million events of the batches.
    cpu_seconds_per_million: Option<f64>,
    resident_mib: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Skipped {
    peer: String,
    reason: String,
}

/// Every round's figures, and those peers that cannot run here.
#[derive(Debug, Default, Serialize)]
pub(super) struct PeersReport {
    rounds: Vec<Vec<Figures>>,
    skipped: Vec<Skipped>,
}

impl CompareArguments {
    fn singles_duration(&self) -> Result<Duration> {
        Duration::try_from_secs_f64(self.singles_seconds)
            .context("a number of seconds is not negative")
    }

    /// Single events for some seconds at a rate, made before anything is timed.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    fn singles(&self, rate: f64) -> Result<Held> {
        let source = Generator::new(GeneratorOptions {
            seed: self.seed,
            run: load::fresh_run_name(),
            batch: 1,
            ..GeneratorOptions::default()
        })?;
        Ok(Held::take(&source, 0..(self.singles_seconds * rate) as u64))
    }
}

impl Comparison<'_> {
    /// Runs Millrace and each peer once a round; who begins alternates.
    pub(super) async fn peers(&mut self, source: &dyn EventSource) -> Result<PeersReport> {
        let mut report = PeersReport::default();
        let mut names = self.arguments.peer.clone();
        for number in 0..self.arguments.pairs {
            let held = self.arguments.part(source, number)?;
            let mut round = Vec::new();
            if number.is_multiple_of(2) {
                round.push(self.millrace_side(&held).await?);
            }
            for name in names.clone() {
                if name == SEGMENT {
                    round.push(self.segment_side(&held).await?);
                    continue;
                }
                match self.peer_side(&name, &held).await.with_context(|| name.clone())? {
                    Ok(figures) => round.push(figures),
                    Err(reason) => {
                        names.retain(|it| *it != name);
                        report.skipped.push(Skipped { peer: name, reason });
                    }
                }
            }
            if !number.is_multiple_of(2) {
                round.push(self.millrace_side(&held).await?);
            }
            report.rounds.push(round);
        }
        Ok(report)
    }

    /// Waits until no merges are running, on a connection that was not idle before.
    async fn settle(&mut self) -> Result<()> {
        self.clickhouse = self.arguments.target.clickhouse()?;
        direct::settle(&mut self.clickhouse).await
    }

    async fn millrace_side(&mut self, held: &Held) -> Result<Figures> {
        let key = self.arguments.target.key()?;
        let side = Side {
            endpoint: self.arguments.target.endpoint()?,
            batches: Intake::Track(key.clone()),
            singles: Intake::Track(key),
            process_id: self.arguments.server_pid,
        };
        self.own_side("Millrace", &side, held, |body| Ok(body.clone())).await
    }

    /// Millrace by `/v1/batch` and `/v1/track`.
    async fn segment_side(&mut self, held: &Held) -> Result<Figures> {
        let key = self.arguments.target.key()?;
        let side = Side {
            endpoint: self.arguments.target.endpoint()?,
            batches: segment::batches(key.clone()),
            singles: segment::singles(key),
            process_id: self.arguments.server_pid,
        };
        self.own_side("Millrace, /v1", &side, held, segment::body).await
    }

    /// A side of Millrace, whose events land in the table of events; `body` makes its bodies of those of `/events/track`.
    async fn own_side(
        &mut self,
        name: &str,
        side: &Side,
        held: &Held,
        body: impl Fn(&Bytes) -> Result<Bytes>,
    ) -> Result<Figures> {
        let held = held.try_map(&body)?;
        let duration = self.arguments.singles_duration()?;
        let flat_out = self.arguments.singles(SINGLES_RATE_MAX)?.try_map(&body)?;
        let at_rate = self.arguments.singles(SINGLES_RATE)?.try_map(&body)?;
        self.settle().await?;
        let before = self.rows().await?;
        let mut measured = Measured::begin(name, side)?;
        let acknowledged = measured.batches(side, &held).await?;
        self.landed(before + acknowledged).await?;
        measured.stored(acknowledged)?;
        measured.singles_flat_out(side, flat_out, duration).await?;
        measured.singles_at_rate(side, at_rate, duration).await?;
        Ok(measured.figures)
    }

    /// The peer's figures, or why it cannot run here.
    async fn peer_side(&mut self, name: &str, held: &Held) -> Result<Result<Figures, String>> {
        let target = self.arguments.target.clickhouse_target()?;
        let peer = match Peer::start(&self.arguments.peers_dir, name, &target).await? {
            Start::Running(peer) => peer,
            Start::Skipped { reason } => return Ok(Err(reason)),
        };
        let held = peer.bodies(held)?;
        self.settle().await?;
        let side = Side {
            endpoint: peer.endpoint.clone(),
            batches: peer.intake(),
            singles: peer.intake(),
            process_id: Some(peer.process_id()),
        };
        let mut measured = Measured::begin(name, &side)?;
        let acknowledged = measured.batches(&side, &held).await?;
        let deadline = Instant::now() + LANDING_PATIENCE;
        while peer.rows().await? < acknowledged {
            ensure!(Instant::now() < deadline, "{} rows are stored", peer.rows().await?);
            time::sleep(LANDING_PAUSE).await;
        }
        measured.stored(acknowledged)?;
        let duration = self.arguments.singles_duration()?;
        let singles = peer.bodies(&self.arguments.singles(SINGLES_RATE_MAX)?)?;
        measured.singles_flat_out(&side, singles, duration).await?;
        let singles = peer.bodies(&self.arguments.singles(SINGLES_RATE)?)?;
        measured.singles_at_rate(&side, singles, duration).await?;
        peer.stop().await?;
        Ok(Ok(measured.figures))
    }
}

/// A side being measured.
struct Measured {
    figures: Figures,
    process_id: Option<u32>,
    cpu_seconds_before: f64,
    began: Instant,
}

impl Measured {
    fn begin(name: &str, side: &Side) -> Result<Self> {
        let cpu_seconds_before = side.process_id.map_or(Ok(0.0), cpu_seconds)?;
        let figures = Figures { side: name.to_owned(), ..Figures::default() };
        let process_id = side.process_id;
        Ok(Self { figures, process_id, cpu_seconds_before, began: Instant::now() })
    }

    /// Sends all batches flat out; how many events were acknowledged.
    async fn batches(&mut self, side: &Side, held: &Held) -> Result<u64> {
        self.began = Instant::now();
        let outcome = send(options(side, &side.batches, Arc::new(held.clone()))).await?;
        self.figures.batches_acknowledged =
            per_second(outcome.counts.acknowledged, outcome.elapsed);
        self.figures.batches_failed = outcome.counts.failed + outcome.counts.broken;
        Ok(outcome.counts.acknowledged)
    }

    /// All batches are stored now.
    #[expect(clippy::cast_precision_loss, reason = "totals of a run are far below 2^52")]
    fn stored(&mut self, events: u64) -> Result<()> {
        self.figures.batches_stored = per_second(events, self.began.elapsed());
        if let Some(id) = self.process_id {
            let used = cpu_seconds(id)? - self.cpu_seconds_before;
            self.figures.cpu_seconds_per_million = Some(used * 1e6 / events as f64);
            self.figures.resident_mib = Some(resident_mib(id)?);
        }
        Ok(())
    }

    async fn singles_flat_out(
        &mut self,
        side: &Side,
        singles: Held,
        duration: Duration,
    ) -> Result<()> {
        let duration = Some(duration);
        let options = options(side, &side.singles, Arc::new(singles));
        let outcome = send(LoadOptions { duration, ..options }).await?;
        self.figures.singles = per_second(outcome.counts.acknowledged, outcome.elapsed);
        Ok(())
    }

    async fn singles_at_rate(
        &mut self,
        side: &Side,
        singles: Held,
        duration: Duration,
    ) -> Result<()> {
        let (duration, requests_per_second) = (Some(duration), Some(SINGLES_RATE));
        let options = options(side, &side.singles, Arc::new(singles));
        let outcome = send(LoadOptions { requests_per_second, duration, ..options }).await?;
        let latencies = outcome.latencies.quantiles();
        self.figures.singles_p50_ms = latencies.p50_ms;
        self.figures.singles_p99_ms = latencies.p99_ms;
        Ok(())
    }
}

fn options(side: &Side, intake: &Intake, source: Arc<dyn EventSource>) -> LoadOptions {
    LoadOptions {
        connections: CONNECTIONS,
        ..LoadOptions::to(side.endpoint.clone(), intake.clone(), source)
    }
}

async fn send(options: LoadOptions) -> Result<Outcome> {
    let load = Load::start(options)?;
    let outcome = tokio::task::spawn_blocking(|| load.join()).await?;
    if let Some(error) = outcome.aborted {
        return Err(error);
    }
    if outcome.counts.acknowledged == 0 {
        bail!("{}", outcome.first_error.unwrap_or_default());
    }
    Ok(outcome)
}

/// CPU seconds that a process has used: `utime` and `stime` of proc(5).
fn cpu_seconds(process_id: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process_id}/stat"))
        .with_context(|| format!("there is no process {process_id}"))?;
    // The name may hold spaces; it ends with the last parenthesis.
    let after_name = stat.rsplit_once(')').context("/proc/*/stat has another form")?.1;
    let ticks: f64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| field.parse::<f64>().unwrap_or_default())
        .sum();
    Ok(ticks / TICKS_PER_SECOND)
}

/// The most memory a process has held, in MiB: `VmHWM` of proc(5).
fn resident_mib(process_id: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process_id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kib.context("/proc/*/status has no VmHWM")? / 1024.0)
}

impl Report for PeersReport {
    fn tables(&self) -> Vec<Table> {
        let mut table = Table::new(
            "compare: the same events, the same ClickHouse; rates in events/s, singles over 64 connections, latency at 1,000/s",
            &[
                "round", "side", "acked", "stored", "failed", "singles", "p50 ms", "p99 ms",
                "CPU s/M", "MiB",
            ],
        );
        let optional = |value: Option<f64>| value.map_or_else(String::new, |it| format!("{it:.1}"));
        for (number, round) in (1..).zip(&self.rounds) {
            for it in round {
                table.row(vec![
                    format!("{number}"),
                    it.side.clone(),
                    report::rate(it.batches_acknowledged),
                    report::rate(it.batches_stored),
                    it.batches_failed.to_string(),
                    report::rate(it.singles),
                    format!("{:.2}", it.singles_p50_ms),
                    format!("{:.2}", it.singles_p99_ms),
                    optional(it.cpu_seconds_per_million),
                    optional(it.resident_mib),
                ]);
            }
        }
        let mut tables = vec![table];
        if !self.skipped.is_empty() {
            let mut skipped = Table::pairs("SKIPPED");
            self.skipped.iter().for_each(|it| skipped.pair(&it.peer, &it.reason));
            tables.push(skipped);
        }
        tables
    }
}
