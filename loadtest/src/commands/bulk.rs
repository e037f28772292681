//! `bulk`: a list's members on and off, and an import of suppressions, each as large as it may be.

use std::{path::PathBuf, time::Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Ending, TargetArguments, load_report::latency_row};
use crate::{
    api::Requests,
    clock,
    http::Connection,
    load::{Latencies, Quantiles},
    report::{self, Report, Table},
};

/// Contacts of one bulk call; the specification's limit.
const MEMBERS_MAX: usize = 10_000;
/// Entries of one import; the specification's limit.
const ENTRIES_MAX: usize = 5_000;
/// Users on a page of the list; the specification's limit.
const PAGE: usize = 200;
/// What the project wants of a bulk change of [`MEMBERS_MAX`], milliseconds.
const BULK_MS_MAX: f64 = 2000.0;

#[derive(Args, Debug)]
pub struct BulkArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Rounds, each with a list and numbers of its own
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Write the report to this file as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(super) async fn bulk(arguments: BulkArguments) -> Result<Ending> {
    let requests = Requests::new(&arguments.target.endpoint()?, &arguments.target.key()?)?;
    let mut caller = Caller { connection: Connection::new(arguments.target.endpoint()?), requests };
    let contacts = caller.contacts().await?;
    if contacts.len() < MEMBERS_MAX {
        bail!(
            "the workspace has {} profiles and {MEMBERS_MAX} are needed: run `profiles` first",
            contacts.len()
        );
    }
    let mut steps = [
        Step::new("add 10,000 members"),
        Step::new("add them again"),
        Step::new("remove them"),
        Step::new("import 5,000 suppressions"),
        Step::new("import them again"),
    ];
    for round in 0..arguments.rounds {
        caller.round(round, &contacts, &mut steps).await?;
    }
    let steps = steps.map(|step| Figure { step: step.name, latency: step.latencies.quantiles() });
    report::publish(&BulkReport { rounds: arguments.rounds, steps }, arguments.json.as_deref())?;
    Ok(Ending::Good)
}

struct Step {
    name: &'static str,
    latencies: Latencies,
}

impl Step {
    fn new(name: &'static str) -> Self {
        Self { name, latencies: Latencies::default() }
    }
}

struct Caller {
    connection: Connection,
    requests: Requests,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
}

impl Caller {
    async fn call(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let request = self.requests.call(method.parse()?, path, body);
        let answer = self.connection.exchange(request).await?;
        if !(200..300).contains(&answer.status) {
            let text = String::from_utf8_lossy(&answer.body);
            bail!("{method} {path} was answered {}: {text}", answer.status);
        }
        serde_json::from_slice(&answer.body).with_context(|| format!("{path} answers no JSON"))
    }

    /// Makes a call and holds its answer against what it must be.
    async fn timed(&mut self, step: &mut Step, call: BulkCall<'_>) -> Result<()> {
        let started = Instant::now();
        let answer = self.call(call.method, call.path, Some(call.body)).await?;
        step.latencies.record(started.elapsed());
        anyhow::ensure!(answer[call.counted] == call.count, "{}: {answer}", step.name);
        Ok(())
    }

    /// The ids of the contacts changed last.
    async fn contacts(&mut self) -> Result<Vec<String>> {
        let mut ids = Vec::with_capacity(MEMBERS_MAX);
        while ids.len() < MEMBERS_MAX {
            let path = format!("/users?limit={PAGE}&offset={}", ids.len());
            let page: Page = serde_json::from_value(self.call("GET", &path, None).await?)?;
            if page.data.is_empty() {
                break;
            }
            ids.extend(page.data.into_iter().map(|row| row.id));
        }
        Ok(ids)
    }

    async fn round(
        &mut self,
        round: u32,
        contacts: &[String],
        [add, again, remove, import, known]: &mut [Step; 5],
    ) -> Result<()> {
        // Numbers and names of this round alone, so that it can be repeated.
        let run = clock::now_ms().rem_euclid(10_000_000_000);
        let list = json!({"name": format!("loadtest {run} {round}")});
        let list = self.call("POST", "/lists", Some(&list)).await?;
        let list = list["id"].as_str().context("a list has an id")?.to_owned();
        let path = format!("/lists/{list}/members/bulk");
        let body = json!({"contactIds": contacts, "channel": "email"});
        let all = MEMBERS_MAX;
        self.timed(
            add,
            BulkCall { method: "POST", path: &path, body: &body, counted: "added", count: all },
        )
        .await?;
        self.timed(
            again,
            BulkCall { method: "POST", path: &path, body: &body, counted: "added", count: 0 },
        )
        .await?;
        self.timed(
            remove,
            BulkCall { method: "DELETE", path: &path, body: &body, counted: "removed", count: all },
        )
        .await?;
        let numbers = (0..ENTRIES_MAX).map(|n| json!({"identifier": format!("+{run:010}{n:04}")}));
        let body = json!({"channel": "sms", "entries": numbers.collect::<Vec<_>>()});
        let path = "/suppressions/import";
        self.timed(
            import,
            BulkCall { method: "POST", path, body: &body, counted: "imported", count: ENTRIES_MAX },
        )
        .await?;
        self.timed(
            known,
            BulkCall { method: "POST", path, body: &body, counted: "skipped", count: ENTRIES_MAX },
        )
        .await
    }
}

/// A call, and a number its answer must contain.
struct BulkCall<'a> {
    method: &'a str,
    path: &'a str,
    body: &'a Value,
    /// Field of the answer that counts what was done.
    counted: &'a str,
    count: usize,
}

#[derive(Debug, Serialize)]
struct Figure {
    step: &'static str,
    latency: Quantiles,
}

#[derive(Debug, Serialize)]
struct BulkReport {
    rounds: u32,
    steps: [Figure; 5],
}

impl Report for BulkReport {
    fn tables(&self) -> Vec<Table> {
        let title = format!("Bulk changes, {} rounds (wanted: {BULK_MS_MAX:.0} ms)", self.rounds);
        let mut table = Table::new(&title, &["ms", "count", "p50", "p90", "p99", "p99.9", "max"]);
        for figure in &self.steps {
            table.row(latency_row(figure.step, &figure.latency));
        }
        vec![table]
    }
}
