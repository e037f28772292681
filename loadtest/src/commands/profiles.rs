//! `profiles`: arrays of create-or-updates, then how long the list and searches take among them all.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use tokio::{task::JoinSet, time};

use super::{Ending, TargetArguments, load_report::latency_row};
use crate::{
    api::Requests,
    http::Connection,
    load::{Latencies, Pace, Quantiles},
    report::{self, Report, Table},
    source::Profiles,
};

/// Pause after a 503 that names none.
const RETRY_AFTER_DEFAULT: Duration = Duration::from_secs(1);
/// Unmeasured rounds of questions before the first measured one.
const WARM_UP_ROUNDS: u32 = 3;
/// What the design wants of each question's median, milliseconds.
const QUESTION_MS_MAX: f64 = 50.0;

#[derive(Args, Debug)]
pub struct ProfilesArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Profiles to send in all; 0 only asks the questions. A million with --updates 0 seeds a workspace
    #[arg(long, default_value_t = 100_000)]
    count: u64,
    /// Elements of an array; 1000 is the specification's limit
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1000))]
    batch: u64,
    /// Share of an array's elements, 0 to 1, that update a profile made before
    #[arg(long, default_value_t = 0.5)]
    updates: f64,
    /// Keep-alive connections to the API
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    connections: u16,
    /// Profiles a second, on a schedule that latencies are measured against; flat out without it
    #[arg(long)]
    rate: Option<f64>,
    /// Stop after this many seconds
    #[arg(long)]
    duration: Option<f64>,
    /// Decides which profiles are updated
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measured rounds of each question about the profiles; 0 asks none
    #[arg(long, default_value_t = 50)]
    rounds: u32,
    /// Write the report to this file as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(super) async fn profiles(arguments: ProfilesArguments) -> Result<Ending> {
    anyhow::ensure!((0.0..=1.0).contains(&arguments.updates), "--updates is a share, 0 to 1");
    let requests = Requests::new(&arguments.target.endpoint()?, &arguments.target.key()?)?;
    let mut connection = Connection::new(arguments.target.endpoint()?);
    let present = total(&mut connection, &requests, "/users?limit=1").await?;
    let sending = send(&arguments, &requests, present).await?;
    let profiles = total(&mut connection, &requests, "/users?limit=1").await?;
    let mut questions = Vec::new();
    if arguments.rounds > 0 && profiles > 0 {
        for (question, path) in asked(profiles) {
            questions
                .push(ask(&mut connection, &requests, arguments.rounds, question, &path).await?);
        }
    }
    let good = sending.as_ref().is_none_or(|sending| sending.failed == 0);
    let report = ProfilesReport { profiles, sending, questions };
    report::publish(&report, arguments.json.as_deref())?;
    Ok(Ending::good_if(good))
}

/// What the server answers to an array.
#[derive(Debug, Deserialize)]
struct Verdicts {
    processed: u64,
    created: u64,
    updated: u64,
    failed: Vec<Failed>,
}

#[derive(Debug, Deserialize)]
struct Failed {
    index: u64,
    reason: String,
}

/// What came of the load.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sending {
    processed: u64,
    created: u64,
    updated: u64,
    failed: u64,
    bytes: u64,
    seconds: f64,
    connections: u16,
    batch: u64,
    updates: f64,
    latency: Quantiles,
    #[serde(skip)]
    latencies: Latencies,
    first_refusal: Option<String>,
}

impl Sending {
    fn add(&mut self, other: &Self) {
        self.processed += other.processed;
        self.created += other.created;
        self.updated += other.updated;
        self.failed += other.failed;
        self.bytes += other.bytes;
        self.latencies.add(&other.latencies);
        self.first_refusal = self.first_refusal.take().or_else(|| other.first_refusal.clone());
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 profiles")]
    fn per_second(&self) -> f64 {
        self.processed as f64 / self.seconds.max(1e-9)
    }
}

/// What all connections share.
struct Run {
    requests: Requests,
    profiles: Profiles,
    pace: Pace,
    batches: u64,
    bar: ProgressBar,
}

async fn send(
    arguments: &ProfilesArguments,
    requests: &Requests,
    present: u64,
) -> Result<Option<Sending>> {
    let batches = arguments.count.div_ceil(arguments.batch);
    if batches == 0 {
        return Ok(None);
    }
    let ProfilesArguments { seed, batch, updates, connections, .. } = *arguments;
    let started = Instant::now();
    #[expect(clippy::cast_precision_loss, reason = "at most a thousand")]
    let rate = arguments.rate.map(|rate| rate / batch as f64);
    let run = Arc::new(Run {
        requests: requests.clone(),
        profiles: Profiles { seed, batch, updates, present },
        pace: Pace::new(started, rate, arguments.duration.map(Duration::from_secs_f64)),
        batches,
        bar: ProgressBar::new(batches),
    });
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let connection = Connection::new(arguments.target.endpoint()?);
        tasks.spawn(send_share(Arc::clone(&run), connection));
    }
    let mut sum = Sending { connections, batch, updates, ..Sending::default() };
    while let Some(task) = tasks.join_next().await {
        sum.add(&task??);
    }
    run.bar.finish_and_clear();
    sum.seconds = started.elapsed().as_secs_f64();
    sum.latency = sum.latencies.quantiles();
    Ok(Some(sum))
}

/// One connection's life: takes tickets and sends their arrays until there is no more to send.
async fn send_share(run: Arc<Run>, mut connection: Connection) -> Result<Sending> {
    let mut sum = Sending::default();
    while let Some(ticket) = run.pace.take(Instant::now()) {
        if ticket.number >= run.batches {
            break;
        }
        let batch = run.profiles.batch(ticket.number);
        if let Some(due) = ticket.due {
            time::sleep_until(due.into()).await;
        }
        let sent = Instant::now();
        let answer = loop {
            let answer = connection.exchange(run.requests.upsert(batch.body.clone())).await?;
            match answer.status {
                200 => break answer,
                503 => time::sleep(answer.retry_after.unwrap_or(RETRY_AFTER_DEFAULT)).await,
                status => {
                    let text =
                        String::from_utf8_lossy(&answer.body).chars().take(300).collect::<String>();
                    bail!("the server answered {status}: {text}");
                }
            }
        };
        sum.latencies.record(ticket.latency(sent, Instant::now()));
        let verdicts: Verdicts = serde_json::from_slice(&answer.body)
            .context("the answer to an array of users has another form")?;
        let done = verdicts.created + verdicts.updated + verdicts.failed.len() as u64;
        anyhow::ensure!(
            verdicts.processed == run.profiles.batch && done == verdicts.processed,
            "of {} users {} were processed and {done} have a verdict",
            run.profiles.batch,
            verdicts.processed
        );
        sum.processed += verdicts.processed;
        sum.created += verdicts.created;
        sum.updated += verdicts.updated;
        sum.failed += verdicts.failed.len() as u64;
        sum.bytes += batch.body.len() as u64;
        let refusal = verdicts.failed.first();
        let refusal = refusal.map(|failed| format!("element {}: {}", failed.index, failed.reason));
        sum.first_refusal = sum.first_refusal.or(refusal);
        run.bar.inc(1);
    }
    Ok(sum)
}

#[derive(Debug, Deserialize)]
struct Page {
    pagination: Pagination,
}

#[derive(Debug, Deserialize)]
struct Pagination {
    total: u64,
}

/// The total that a list of users names.
async fn total(connection: &mut Connection, requests: &Requests, path: &str) -> Result<u64> {
    let answer = connection.exchange(requests.get(path)).await?;
    if answer.status != 200 {
        bail!("{path} was answered {}: {}", answer.status, String::from_utf8_lossy(&answer.body));
    }
    let page: Page = serde_json::from_slice(&answer.body)
        .with_context(|| format!("{path} is answered in another form"))?;
    Ok(page.pagination.total)
}

/// The questions, for a workspace of so many generated profiles.
fn asked(profiles: u64) -> Vec<(&'static str, String)> {
    let one = profiles / 2;
    vec![
        ("list, first 50", "/users".to_owned()),
        ("list, 200 from 10,000 on", "/users?limit=200&offset=10000".to_owned()),
        ("one by external id", format!("/users/search?query=customer-{one}")),
        ("one by email", format!("/users/search?query=user.{one}@example.test")),
        ("beginning of many external ids", "/users/search?query=CUSTOMER-1".to_owned()),
        ("beginning of many phones", "/users/search?query=%2B4915".to_owned()),
        ("a common first name", "/users/search?query=hannah".to_owned()),
        ("a common part of a name", "/users/search?query=ann".to_owned()),
        ("a whole name", "/users/search?query=j%C3%BCrgen%20nguyenquist".to_owned()),
        ("two letters", "/users/search?query=ri".to_owned()),
        ("two letters without a match", "/users/search?query=qz".to_owned()),
        ("a word without a match", "/users/search?query=xylophone".to_owned()),
    ]
}

async fn ask(
    connection: &mut Connection,
    requests: &Requests,
    rounds: u32,
    question: &'static str,
    path: &str,
) -> Result<Asked> {
    let mut latencies = Latencies::default();
    let mut found = 0;
    for round in 0..rounds + WARM_UP_ROUNDS {
        let started = Instant::now();
        found = total(connection, requests, path).await?;
        if round >= WARM_UP_ROUNDS {
            latencies.record(started.elapsed());
        }
    }
    Ok(Asked { question, path: path.to_owned(), found, latency: latencies.quantiles() })
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    question: &'static str,
    path: String,
    found: u64,
    latency: Quantiles,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProfilesReport {
    /// Profiles in the workspace at the end.
    profiles: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sending: Option<Sending>,
    questions: Vec<Asked>,
}

impl Report for ProfilesReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        if let Some(sending) = &self.sending {
            tables.push(sending_table(sending));
            let mut latency =
                Table::new("Latency", &["ms", "count", "p50", "p90", "p99", "p99.9", "max"]);
            latency.row(latency_row("array, from sending", &sending.latency));
            tables.push(latency);
        }
        if !self.questions.is_empty() {
            let title = format!("Questions among {} profiles, ms", report::grouped(self.profiles));
            let columns =
                ["question", "count", "p50", "p90", "p99", "p99.9", "max", "wanted", "found"];
            let mut table = Table::new(&title, &columns);
            for asked in &self.questions {
                let mut row = latency_row(asked.question, &asked.latency);
                row.push(format!("{QUESTION_MS_MAX:.0}"));
                row.push(report::grouped(asked.found));
                table.row(row);
            }
            tables.push(table);
        }
        tables
    }
}

fn sending_table(sending: &Sending) -> Table {
    let title = format!(
        "profiles: {} an array, {} connections, {:.0} % updates",
        sending.batch,
        sending.connections,
        sending.updates * 100.0
    );
    let mut table = Table::pairs(&title);
    table.pair("elapsed", format!("{:.2} s", sending.seconds));
    table.pair("processed", report::grouped(sending.processed));
    table.pair("created", report::grouped(sending.created));
    table.pair("updated", report::grouped(sending.updated));
    table.pair("failed", report::grouped(sending.failed));
    if let Some(refusal) = &sending.first_refusal {
        table.pair("first failure", refusal);
    }
    table.pair("rate", format!("{} profiles/s", report::rate(sending.per_second())));
    table
}
