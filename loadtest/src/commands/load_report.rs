//! What a run of load came to.

use std::time::Duration;

use serde::Serialize;

use crate::{
    load::{Counts, Outcome, Quantiles},
    probe::Visibility,
    report::{self, Report, Table},
    scrape::ServerFigures,
};

/// What was asked for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunFacts {
    pub(super) command: &'static str,
    pub(super) started_at: String,
    pub(super) batch: usize,
    pub(super) connections: u16,
    pub(super) rate: Option<f64>,
    pub(super) retries: f64,
}

/// How soon acknowledged events could be read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VisibilityFigures {
    lag: Quantiles,
    unseen: u64,
    looks: u64,
}

impl VisibilityFigures {
    pub(super) fn of(visibility: &Visibility) -> Self {
        Self { lag: visibility.lag.quantiles(), unseen: visibility.unseen, looks: visibility.looks }
    }
}

/// What a run of load came to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoadReport {
    #[serde(flatten)]
    run: RunFacts,
    elapsed_seconds: f64,
    counts: Counts,
    events_per_second: f64,
    megabytes_per_second: f64,
    ack_latency: Quantiles,
    pub(super) visibility: Option<VisibilityFigures>,
    drain_seconds: Option<f64>,
    landed_per_second: Option<f64>,
    backlog_never_drained: bool,
    pub(super) server: Option<ServerFigures>,
    loadtest_cpu_seconds: f64,
    first_error: Option<String>,
}

#[expect(clippy::cast_precision_loss, reason = "totals of a run are far below 2^52")]
fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

impl LoadReport {
    pub(super) fn new(run: RunFacts, outcome: &Outcome) -> Self {
        let seconds = outcome.elapsed.as_secs_f64();
        let counts = outcome.counts;
        Self {
            run,
            elapsed_seconds: seconds,
            counts,
            events_per_second: per_second(counts.acknowledged + counts.repeated, seconds),
            megabytes_per_second: per_second(counts.bytes, seconds) / 1e6,
            ack_latency: outcome.latencies.quantiles(),
            visibility: None,
            drain_seconds: None,
            landed_per_second: None,
            backlog_never_drained: false,
            server: None,
            loadtest_cpu_seconds: own_cpu_seconds(),
            first_error: outcome.first_error.clone(),
        }
    }

    /// Takes in how long the backlog took to drain after the load, `None` when it did not.
    pub(super) fn set_drained(&mut self, after: Option<Duration>) {
        self.backlog_never_drained = after.is_none();
        self.drain_seconds = after.map(|after| after.as_secs_f64());
        let seconds = self.drain_seconds.map(|drain| self.elapsed_seconds + drain);
        self.landed_per_second =
            seconds.map(|seconds| per_second(self.counts.acknowledged, seconds));
    }

    /// Whether everything that was sent was taken, and landed.
    pub(super) fn is_good(&self) -> bool {
        let counts = &self.counts;
        let unseen = self.visibility.as_ref().map_or(0, |visibility| visibility.unseen);
        let taken = counts.refused == 0 && counts.failed == 0 && counts.unacknowledged == 0;
        taken && unseen == 0 && !self.backlog_never_drained
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
        let run = &self.run;
        let pace = run
            .rate
            .map_or("flat out".to_owned(), |rate| format!("{} events/s", report::rate(rate)));
        let title = format!(
            "{}: {} a request, {} connections, {pace}",
            run.command, run.batch, run.connections
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
        if self.backlog_never_drained {
            main.pair("drained after", "NEVER");
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
        let from = if self.run.rate.is_some() { "when due" } else { "sending" };
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
