//! `campaigns`: many of them, then how long the list takes by each filter, and creates and updates at a
//! rate.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::json;
use tokio::{task::JoinSet, time};

use super::{Ending, TargetArguments, caller::Caller, load_report::latency_row};
use crate::{
    load::{Latencies, Pace, Quantiles},
    report::{self, Report, Table},
    source::Campaigns,
};

/// Unmeasured rounds of questions before the first measured one.
const WARM_UP_ROUNDS: u32 = 3;
/// What the project wants of the list by any filter, milliseconds.
const LIST_MS_MAX: f64 = 50.0;
/// What the project wants of the 99th percentile of a create and of an update, milliseconds.
const WRITE_MS_MAX: f64 = 20.0;

#[derive(Args, Debug)]
pub struct CampaignsArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Campaigns the workspace is to have; those missing are made first, flat out
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// Characters of the HTML of an email campaign
    #[arg(long, default_value_t = 4096)]
    html_chars: usize,
    /// Keep-alive connections to the API
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    connections: u16,
    /// Measured rounds of each question; 0 asks none
    #[arg(long, default_value_t = 50)]
    rounds: u32,
    /// Creates, and then updates, a second, on a schedule that latencies are measured against
    #[arg(long, default_value_t = 100.0)]
    rate: f64,
    /// Seconds of creates, and then of updates; 0 for none
    #[arg(long, default_value_t = 20.0)]
    duration: f64,
    /// Decides what the campaigns are
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the report to this file as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(super) async fn campaigns(arguments: CampaignsArguments) -> Result<Ending> {
    anyhow::ensure!(arguments.rate > 0.0, "--rate is above 0");
    let mut caller = Caller::new(&arguments.target)?;
    let present = caller.total("/campaigns?limit=1").await?;
    seed(&arguments, present).await?;
    let campaigns = caller.total("/campaigns?limit=1").await?;
    let mut questions = Vec::new();
    if arguments.rounds > 0 {
        for (question, path) in caller.questions().await? {
            questions.push(caller.ask(arguments.rounds, question, &path).await?);
        }
    }
    let mut writes = Vec::new();
    if arguments.duration > 0.0 {
        let ids = caller.drafts().await?;
        for work in [Work::Create, Work::Update(ids)] {
            let step = work.name();
            writes.push(Written { step, latency: write(&arguments, work, campaigns).await? });
        }
    }
    let rate = arguments.rate;
    let report = CampaignsReport { campaigns, rate, questions, writes };
    report::publish(&report, arguments.json.as_deref())?;
    Ok(Ending::Good)
}

impl Caller {
    /// The questions, with ids of this workspace in them.
    async fn questions(&mut self) -> Result<Vec<(&'static str, String)>> {
        let page = self.call("GET", "/campaigns?limit=1", None).await?;
        let actor = page["data"][0]["createdBy"].as_str().context("there is no campaign")?;
        Ok(vec![
            ("newest 20", "/campaigns".to_owned()),
            ("newest 100", "/campaigns?limit=100".to_owned()),
            ("20 from 9,000 on", "/campaigns?page=451".to_owned()),
            ("status", "/campaigns?status=active,paused".to_owned()),
            ("channel", "/campaigns?channel=push,in_app".to_owned()),
            ("tags", "/campaigns?tags=vip,winback".to_owned()),
            ("q, a common part", "/campaigns?q=sale".to_owned()),
            ("q, one letter", "/campaigns?q=e".to_owned()),
            ("q, found nowhere", "/campaigns?q=xylophone".to_owned()),
            ("createdBy", format!("/campaigns?createdBy={actor}")),
            ("editedBy", format!("/campaigns?editedBy={actor}")),
            ("createdFrom", "/campaigns?createdFrom=2020-01-01".to_owned()),
            (
                "all at once",
                format!(
                    "/campaigns?q=a&status=active&channel=email&tags=vip,eu&createdBy={actor}\
                     &editedBy={actor}&createdFrom=2020-01-01"
                ),
            ),
        ])
    }

    async fn ask(&mut self, rounds: u32, question: &'static str, path: &str) -> Result<Asked> {
        let (mut latencies, mut found) = (Latencies::default(), 0);
        for round in 0..rounds + WARM_UP_ROUNDS {
            let started = Instant::now();
            found = self.total(path).await?;
            if round >= WARM_UP_ROUNDS {
                latencies.record(started.elapsed());
            }
        }
        Ok(Asked { question, path: path.to_owned(), found, latency: latencies.quantiles() })
    }

    /// Ids of drafts, which can be updated whatever the time is.
    async fn drafts(&mut self) -> Result<Vec<String>> {
        let page = self.call("GET", "/campaigns?status=draft&limit=100", None).await?;
        let rows = page["data"].as_array().context("a page has rows")?;
        let ids: Vec<String> =
            rows.iter().filter_map(|row| Some(row["id"].as_str()?.to_owned())).collect();
        anyhow::ensure!(!ids.is_empty(), "there is no draft to update");
        Ok(ids)
    }
}

/// Makes the campaigns that are missing, and brings each where it is to be.
async fn seed(arguments: &CampaignsArguments, present: u64) -> Result<()> {
    let bar = ProgressBar::new(arguments.count.saturating_sub(present));
    let pace = Arc::new(Pace::new(Instant::now(), None, None));
    let source = Campaigns { seed: arguments.seed, html_chars: arguments.html_chars };
    let mut tasks = JoinSet::new();
    for _ in 0..arguments.connections {
        let mut caller = Caller::new(&arguments.target)?;
        let (pace, bar, count) = (Arc::clone(&pace), bar.clone(), arguments.count);
        tasks.spawn(async move {
            while let Some(ticket) = pace.take(Instant::now()) {
                let number = present + ticket.number;
                if number >= count {
                    break;
                }
                let new = source.campaign(number);
                let made = caller.call("POST", "/campaigns", Some(&new.body)).await?;
                let id = made["id"].as_str().context("a campaign has an id")?;
                for call in new.calls {
                    caller.call("POST", &format!("/campaigns/{id}/{call}"), None).await?;
                }
                bar.inc(1);
            }
            anyhow::Ok(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    bar.finish_and_clear();
    Ok(())
}

/// What is done at the rate.
#[derive(Clone, Debug)]
enum Work {
    /// A campaign is made.
    Create,
    /// One of these gets another description and other tags.
    Update(Vec<String>),
}

impl Work {
    fn name(&self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update(_) => "update",
        }
    }
}

async fn write(arguments: &CampaignsArguments, work: Work, present: u64) -> Result<Quantiles> {
    let duration = Duration::from_secs_f64(arguments.duration);
    let pace = Arc::new(Pace::new(Instant::now(), Some(arguments.rate), Some(duration)));
    let source = Campaigns { seed: arguments.seed, html_chars: arguments.html_chars };
    let mut tasks = JoinSet::new();
    for _ in 0..arguments.connections {
        let mut caller = Caller::new(&arguments.target)?;
        caller.open().await?;
        let (pace, work) = (Arc::clone(&pace), work.clone());
        tasks.spawn(async move {
            let mut latencies = Latencies::default();
            while let Some(ticket) = pace.take(Instant::now()) {
                let number = ticket.number;
                let (method, path, body) = match &work {
                    Work::Create => {
                        let body = source.campaign(present + number).body;
                        ("POST", "/campaigns".to_owned(), body)
                    }
                    Work::Update(ids) => {
                        let at = usize::try_from(number).unwrap_or(0) % ids.len();
                        let body = json!({"description": format!("changed {number}"), "tags": ["changed"]});
                        ("PUT", format!("/campaigns/{}", ids[at]), body)
                    }
                };
                if let Some(due) = ticket.due {
                    time::sleep_until(due.into()).await;
                }
                let sent = Instant::now();
                caller.call(method, &path, Some(&body)).await?;
                latencies.record(ticket.latency(sent, Instant::now()));
            }
            anyhow::Ok(latencies)
        });
    }
    let mut sum = Latencies::default();
    while let Some(task) = tasks.join_next().await {
        sum.add(&task??);
    }
    Ok(sum.quantiles())
}

#[derive(Debug, Serialize)]
struct Asked {
    question: &'static str,
    path: String,
    found: u64,
    latency: Quantiles,
}

#[derive(Debug, Serialize)]
struct Written {
    step: &'static str,
    latency: Quantiles,
}

#[derive(Debug, Serialize)]
struct CampaignsReport {
    /// Campaigns of the workspace when the questions were asked.
    campaigns: u64,
    /// Writes per second, over the whole run.
    rate: f64,
    questions: Vec<Asked>,
    writes: Vec<Written>,
}

impl Report for CampaignsReport {
    fn tables(&self) -> Vec<Table> {
        let columns = ["ms", "count", "p50", "p90", "p99", "p99.9", "max"];
        let mut tables = Vec::new();
        if !self.questions.is_empty() {
            let title = format!(
                "GET /campaigns among {} (wanted: {LIST_MS_MAX:.0} ms)",
                report::grouped(self.campaigns)
            );
            let mut table = Table::new(&title, &[&columns[..], &["found"]].concat());
            for asked in &self.questions {
                let mut row = latency_row(asked.question, &asked.latency);
                row.push(report::grouped(asked.found));
                table.row(row);
            }
            tables.push(table);
        }
        if !self.writes.is_empty() {
            let title = format!("Writes at {:.0}/s (wanted: p99 {WRITE_MS_MAX:.0} ms)", self.rate);
            let mut table = Table::new(&title, &columns);
            for written in &self.writes {
                table.row(latency_row(written.step, &written.latency));
            }
            tables.push(table);
        }
        tables
    }
}
