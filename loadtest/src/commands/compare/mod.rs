//! `compare`: the same events through Millrace, and straight into the same ClickHouse, in turn.

mod direct;
mod otlp;
mod peer;
mod peers;
mod rows;
mod segment;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use serde::Serialize;
use tokio::time;
use uuid::Uuid;

use self::{direct::DirectTable, rows::Content};
use super::{Ending, TargetArguments, load};
use crate::{
    clickhouse::ClickHouse,
    http::Parameter,
    load::{Load, LoadOptions},
    oracle::Oracle,
    report::{self, Report, Table},
    scrape::{Scraper, ServerFigures},
    source::{EVENTS_PER_REQUEST_MAX, EventSource, Generator, GeneratorOptions, Held, Replay},
};

/// Landing is looked for this often.
const LANDING_PAUSE: Duration = Duration::from_millis(20);
/// Longest wait for the events of one side to land.
const LANDING_PATIENCE: Duration = Duration::from_mins(5);

/// A straight way into ClickHouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Way {
    /// The event's own fields into a copy of the event table alone: the least work there is
    Own,
    /// Every column Millrace fills, into a copy of the event table alone
    All,
    /// Every column, into a copy of the event table with copies of its views: the same end state
    Views,
}

impl Way {
    fn content(self) -> Content {
        if self == Self::Own { Content::Own } else { Content::All }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Own => "own fields",
            Self::All => "all columns",
            Self::Views => "with views",
        }
    }
}

#[derive(Args, Debug)]
pub struct CompareArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Compare on the events of this file instead of generated ones
    #[arg(long)]
    file: Option<PathBuf>,
    /// Generated events per side and pair
    #[arg(long, default_value_t = 500_000)]
    events: u64,
    /// Pairs; the order within a pair alternates
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pairs: u64,
    /// What the straight way has to do
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Way::Own, Way::All, Way::Views], conflicts_with = "peer")]
    direct: Vec<Way>,
    /// Keep-alive connections to Millrace
    #[arg(long, default_value_t = 8, conflicts_with = "peer")]
    connections: usize,
    /// Events in a request to Millrace
    #[arg(long, default_value_t = EVENTS_PER_REQUEST_MAX)]
    batch: usize,
    /// Rows in a straight insert
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "peer")]
    direct_rows: u32,
    /// Connections of the straight way
    #[arg(long, default_value_t = 2, conflicts_with = "peer")]
    direct_connections: usize,
    /// Compare with these programs instead, each started by its script in `--peers-dir`; `segment` is Millrace by `/v1/batch` and `/v1/track`
    #[arg(long, value_delimiter = ',')]
    peer: Vec<String>,
    /// Where the scripts of peers are
    #[arg(long, default_value = "loadtest/peers", requires = "peer")]
    peers_dir: PathBuf,
    /// Seconds of single events flat out, and again at 1,000 a second, with `--peer`
    #[arg(long, default_value_t = 10.0, requires = "peer")]
    singles_seconds: f64,
    /// Process of the server, whose CPU and memory are read with `--peer`
    #[arg(long, requires = "peer")]
    server_pid: Option<u32>,
    /// Decides what is generated
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the report to this file as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(super) async fn compare(arguments: CompareArguments) -> Result<Ending> {
    let source = open_source(&arguments)?;
    let oracle = Oracle::of_key(arguments.target.api()?, arguments.target.clickhouse()?).await?;
    let mut comparison = Comparison {
        workspace: oracle.workspace(),
        clickhouse: arguments.target.clickhouse()?,
        scraper: arguments.target.admin_endpoint()?.map(Scraper::new),
        figures: ServerFigures::default(),
        arguments: &arguments,
    };
    if !arguments.peer.is_empty() {
        let report = comparison.peers(source.as_ref()).await?;
        report::publish(&report, arguments.json.as_deref())?;
        return Ok(Ending::Good);
    }
    let bar = ProgressBar::new(arguments.pairs);
    let mut pairs = Vec::new();
    for number in 0..arguments.pairs {
        pairs.push(comparison.pair(source.as_ref(), number, &bar).await?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let report = CompareReport::new(&arguments, pairs);
    report::publish(&report, arguments.json.as_deref())?;
    Ok(Ending::Good)
}

impl CompareArguments {
    /// The events of one pair.
    fn part(&self, source: &dyn EventSource, number: u64) -> Result<Held> {
        let batches = match source.batches() {
            Some(batches) => batches / self.pairs,
            None => self.events.div_ceil(self.batch as u64),
        };
        let part = Held::take(source, number * batches..(number + 1) * batches);
        ensure!(part.events().unwrap_or(0) > 0, "there is nothing to send");
        Ok(part)
    }
}

/// One long source, of which each pair takes its own part: no event is ever sent twice.
fn open_source(arguments: &CompareArguments) -> Result<Box<dyn EventSource>> {
    Ok(match &arguments.file {
        Some(file) => Box::new(Replay::open(file, arguments.batch, arguments.pairs)?),
        None => Box::new(Generator::new(GeneratorOptions {
            seed: arguments.seed,
            run: load::fresh_run_name(),
            batch: arguments.batch,
            ..GeneratorOptions::default()
        })?),
    })
}

struct Comparison<'a> {
    arguments: &'a CompareArguments,
    workspace: Uuid,
    clickhouse: ClickHouse,
    scraper: Option<Scraper>,
    figures: ServerFigures,
}

impl Comparison<'_> {
    async fn pair(
        &mut self,
        source: &dyn EventSource,
        number: u64,
        bar: &ProgressBar,
    ) -> Result<Pair> {
        bar.set_message("preparing");
        let held = Arc::new(self.arguments.part(source, number)?);
        let events = held.events().unwrap_or(0);
        let mut pair = Pair { events, millrace_per_second: 0.0, direct: Vec::new() };
        // The first to go finds colder caches and fewer parts; taking turns evens that out.
        let millrace_first = number.is_multiple_of(2);
        if millrace_first {
            pair.millrace_per_second = self.millrace(&held).await?;
        }
        for way in &self.arguments.direct {
            let per_second = self.direct(&held, *way).await.context("the straight way failed")?;
            pair.direct.push(Direct { way: *way, per_second, ratio: 0.0 });
        }
        if !millrace_first {
            pair.millrace_per_second = self.millrace(&held).await?;
        }
        for direct in &mut pair.direct {
            direct.ratio = pair.millrace_per_second / direct.per_second;
        }
        Ok(pair)
    }

    /// Events a second from the first request to the last row landed.
    async fn millrace(&mut self, held: &Arc<Held>) -> Result<f64> {
        direct::settle(&mut self.clickhouse).await?;
        let events = held.events().unwrap_or(0);
        let before = self.stored().await?;
        let source: Arc<dyn EventSource> = Arc::<Held>::clone(held);
        let target = &self.arguments.target;
        let options = LoadOptions {
            connections: self.arguments.connections,
            ..LoadOptions::new(target.endpoint()?, target.key()?, source)
        };
        let rows_before = self.rows().await?;
        let started = Instant::now();
        let load = Load::start(options)?;
        let outcome = tokio::task::spawn_blocking(|| load.join()).await?;
        if let Some(error) = outcome.aborted {
            return Err(error);
        }
        if outcome.counts.acknowledged != events {
            let error = outcome.first_error.unwrap_or_default();
            bail!("{} of {events} events were acknowledged: {error}", outcome.counts.acknowledged);
        }
        self.landed(rows_before + events).await?;
        let elapsed = started.elapsed();
        let stored = self.stored().await? - before;
        ensure!(stored == events, "{events} events were acknowledged, {stored} are there");
        Ok(per_second(events, elapsed))
    }

    /// Waits until the backlog is empty, or without an admin listener until ClickHouse has the rows.
    async fn landed(&mut self, rows: u64) -> Result<()> {
        let deadline = Instant::now() + LANDING_PATIENCE;
        while Instant::now() < deadline {
            let landed = if self.scraper.is_some() {
                let sample = load::sample(&mut self.scraper, &mut self.figures).await;
                let backlog = sample.and_then(|sample| sample.backlog());
                backlog.ok_or_else(|| anyhow!("the admin listener does not report the backlog"))?
                    < 1.0
            } else {
                self.rows().await? >= rows
            };
            if landed {
                return Ok(());
            }
            time::sleep(LANDING_PAUSE).await;
        }
        bail!("the events did not land in {} s", LANDING_PATIENCE.as_secs())
    }

    async fn direct(&mut self, held: &Held, way: Way) -> Result<f64> {
        let rows_per_insert = usize::try_from(self.arguments.direct_rows)?;
        let bodies =
            rows::insert_bodies(held.as_slice(), self.workspace, way.content(), rows_per_insert)?;
        let target = self.arguments.target.clickhouse_target()?;
        let mut table = DirectTable::make(&target, way == Way::Views).await?;
        direct::settle(&mut self.clickhouse).await?;
        let elapsed = table.insert(&bodies, self.arguments.direct_connections.max(1)).await;
        let rows = table.rows().await;
        table.remove().await?;
        let (elapsed, rows, events) = (elapsed?, rows?, held.events().unwrap_or(0));
        ensure!(rows == events, "{events} rows were inserted, {rows} are there");
        Ok(per_second(events, elapsed))
    }

    async fn rows(&mut self) -> Result<u64> {
        let query = include_str!("../../sql/stored_rows.sql");
        self.clickhouse
            .number(query, &[Parameter::new("workspace", &self.workspace.to_string())])
            .await
    }

    async fn stored(&mut self) -> Result<u64> {
        let query = include_str!("../../sql/stored_events.sql");
        self.clickhouse
            .number(query, &[Parameter::new("workspace", &self.workspace.to_string())])
            .await
    }
}

#[expect(clippy::cast_precision_loss, reason = "totals of a run are far below 2^52")]
fn per_second(events: u64, elapsed: Duration) -> f64 {
    events as f64 / elapsed.as_secs_f64().max(1e-9)
}

/// One pair's rates, events a second.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pair {
    events: u64,
    millrace_per_second: f64,
    direct: Vec<Direct>,
}

/// One straight way's rate in a pair.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Direct {
    way: Way,
    per_second: f64,
    /// Millrace's rate by this one: above 1, Millrace was faster.
    ratio: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CompareReport {
    pairs: Vec<Pair>,
    median_millrace_per_second: f64,
    median_direct: Vec<Direct>,
    direct_rows: u32,
}

impl CompareReport {
    fn new(arguments: &CompareArguments, pairs: Vec<Pair>) -> Self {
        let median_of = |value: &dyn Fn(&Pair) -> f64| {
            report::median(&pairs.iter().map(value).collect::<Vec<_>>())
        };
        let median_millrace_per_second = median_of(&|pair| pair.millrace_per_second);
        let ways = arguments.direct.iter().enumerate();
        let median_direct = ways
            .map(|(index, way)| Direct {
                way: *way,
                per_second: median_of(&|pair| pair.direct[index].per_second),
                ratio: median_of(&|pair| pair.direct[index].ratio),
            })
            .collect();
        Self {
            median_millrace_per_second,
            median_direct,
            direct_rows: arguments.direct_rows,
            pairs,
        }
    }
}

impl Report for CompareReport {
    fn tables(&self) -> Vec<Table> {
        let title = format!(
            "compare: events/s until landed; straight: JSONEachRow, {} rows an insert; ratio = Millrace / straight",
            self.direct_rows
        );
        let mut columns = vec!["pair".to_owned(), "Millrace".to_owned()];
        for direct in &self.median_direct {
            columns.extend([direct.way.label().to_owned(), "ratio".to_owned()]);
        }
        let columns: Vec<_> = columns.iter().map(String::as_str).collect();
        let mut table = Table::new(&title, &columns);
        let cells = |label: String, millrace: f64, direct: &[Direct]| {
            let mut row = vec![label, report::rate(millrace)];
            for one in direct {
                row.extend([report::rate(one.per_second), format!("{:.2}", one.ratio)]);
            }
            row
        };
        for (number, pair) in (1..).zip(&self.pairs) {
            table.row(cells(format!("{number}"), pair.millrace_per_second, &pair.direct));
        }
        table.row(cells("median".to_owned(), self.median_millrace_per_second, &self.median_direct));
        vec![table]
    }
}
