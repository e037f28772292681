//! `campaign`: one campaign to every profile of the workspace, from its launch to the last message, with a
//! sink that counts what comes.

use std::{
    net::SocketAddr,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time;

use super::{Ending, TargetArguments, caller::Caller};
use crate::{
    api::Requests,
    http::Connection,
    report::{self, Report, Table},
    scrape::{Scraper, ServerFigures},
    sink::{Protocol, Sink},
    source::Profiles,
};

/// Between two looks at the server's figures.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Between two looks at the campaign's report, which costs the server more.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// Profiles of one array while they are made.
const BATCH: u64 = 1000;

/// Which channel is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ChannelArgument {
    /// Email, sent over SMTP
    Email,
    /// Text messages, over the generic HTTP gateway
    Sms,
}

#[derive(Args, Debug)]
pub struct CampaignArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Profiles the workspace is to have; those missing are made first. All of them get the campaign
    #[arg(long, default_value_t = 100_000)]
    recipients: u64,
    /// The channel; the server must have been started with this sink as its provider
    #[arg(long, value_enum, default_value_t = ChannelArgument::Email)]
    channel: ChannelArgument,
    /// Where the sink listens: `[channels.email] url = "smtp://…"`, `[channels.sms] url = "http://…"`
    #[arg(long, default_value = "127.0.0.1:1025")]
    sink: SocketAddr,
    /// Characters of the email's HTML
    #[arg(long, default_value_t = 4096)]
    html_chars: usize,
    /// Give up after so many seconds
    #[arg(long, default_value_t = 600)]
    patience: u64,
    /// Write the report to this file as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(super) async fn campaign(arguments: CampaignArguments) -> Result<Ending> {
    let protocol = match arguments.channel {
        ChannelArgument::Email => Protocol::Smtp,
        ChannelArgument::Sms => Protocol::Http,
    };
    let sink = Sink::listen(protocol, arguments.sink)?;
    let mut caller = Caller::new(&arguments.target)?;
    seed(&arguments, &mut caller).await?;
    let made = caller.call("POST", "/campaigns", Some(&body(&arguments))).await?;
    let id = made["id"].as_str().context("a campaign has an id")?.to_owned();
    let report = watch(&arguments, &mut caller, &id, &sink).await?;
    report::publish(&report, arguments.json.as_deref())?;
    Ok(Ending::good_if(report.is_good()))
}

/// Makes the profiles that are missing.
async fn seed(arguments: &CampaignArguments, caller: &mut Caller) -> Result<()> {
    let present = caller.total("/users?limit=1").await?;
    let missing = arguments.recipients.saturating_sub(present);
    let profiles = Profiles { seed: 1, batch: BATCH, updates: 0.0, present };
    let requests = Requests::new(&arguments.target.endpoint()?, &arguments.target.key()?)?;
    let mut connection = Connection::new(arguments.target.endpoint()?);
    for number in 0..missing.div_ceil(BATCH) {
        let batch: Bytes = profiles.batch(number).body;
        let answer = connection.exchange(requests.upsert(batch)).await?;
        anyhow::ensure!(answer.status == 200, "profiles were answered {}", answer.status);
    }
    Ok(())
}

fn body(arguments: &CampaignArguments) -> Value {
    let (channel, message) = match arguments.channel {
        ChannelArgument::Email => {
            let filler = "<p>Hello {{ firstName | default: 'you' }}, <a href=\"https://shop.example.test/sale\">look</a>.</p>";
            let text = filler.repeat(arguments.html_chars.div_ceil(filler.len()).max(1));
            let html = format!("{text}<a href=\"{{{{ unsubscribe_url }}}}\">no more</a>");
            ("email", json!({"subject": "For {{ firstName }}", "html": html}))
        }
        ChannelArgument::Sms => ("sms", json!({"body": "Hello {{ firstName }}"})),
    };
    json!({
        "name": "loadtest", "channel": channel,
        "variants": [{"id": "a", "name": "A", "weight": 100, "message": message}],
    })
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 recipients")]
async fn watch(
    arguments: &CampaignArguments,
    caller: &mut Caller,
    id: &str,
    sink: &Sink,
) -> Result<CampaignReport> {
    let mut scraper = arguments.target.admin_endpoint()?.map(Scraper::new);
    let mut server = ServerFigures::default();
    let queued_before = match &mut scraper {
        Some(scraper) => scraper.scrape().await?.queued.unwrap_or(0.0),
        None => 0.0,
    };
    let started = Instant::now();
    caller.call("POST", &format!("/campaigns/{id}/send"), None).await?;
    let (mut queued_after, mut completed_after, mut stats) = (None, None, Value::Null);
    let give_up = started + Duration::from_secs(arguments.patience);
    let (mut report_at, mut slowest_report) = (started, Duration::ZERO);
    // Reports follow what is sent within a second or so.
    while Instant::now() < give_up {
        time::sleep(LOOK_EVERY).await;
        if let Some(scraper) = &mut scraper {
            let sample = scraper.scrape().await?;
            server.add(sample);
            let queued = sample.queued.unwrap_or(0.0);
            if queued - queued_before >= arguments.recipients as f64 {
                queued_after.get_or_insert(started.elapsed().as_secs_f64());
            }
        }
        if report_at > Instant::now() {
            continue;
        }
        let asked = Instant::now();
        stats = caller.call("GET", &format!("/campaigns/{id}/stats"), None).await?;
        slowest_report = slowest_report.max(asked.elapsed());
        report_at = Instant::now() + REPORT_EVERY;
        if matches!(stats["status"].as_str(), Some("completed" | "failed" | "cancelled")) {
            completed_after.get_or_insert(started.elapsed().as_secs_f64());
            if stats["stats"]["sent"].as_u64() == Some(sink.count()) {
                break;
            }
        }
    }
    let taken = sink.taken();
    let after = |at: Option<Instant>| at.map(|at| (at - started).as_secs_f64());
    let (first_after, last_after) = (after(taken.first), after(taken.last));
    let count = |name: &str| stats["stats"][name].as_u64().unwrap_or(0);
    Ok(CampaignReport {
        recipients: arguments.recipients,
        status: stats["status"].as_str().unwrap_or_default().to_owned(),
        taken: taken.messages(),
        doubled: taken.doubled(),
        bytes: taken.bytes,
        reported_sent: count("sent"),
        reported_skipped: count("skipped"),
        reported_failed: count("failed"),
        queued_after,
        first_after,
        last_after,
        completed_after,
        slowest_report: slowest_report.as_secs_f64(),
        server,
    })
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CampaignReport {
    recipients: u64,
    status: String,
    /// Messages the sink took, each once.
    taken: u64,
    /// Of them, those that came more than once.
    doubled: u64,
    bytes: u64,
    reported_sent: u64,
    reported_skipped: u64,
    reported_failed: u64,
    /// Seconds from the launch, by `/metrics`; none without `--admin`.
    queued_after: Option<f64>,
    first_after: Option<f64>,
    last_after: Option<f64>,
    completed_after: Option<f64>,
    /// Seconds of the slowest answer to `GET /campaigns/:id/stats` meanwhile.
    slowest_report: f64,
    server: ServerFigures,
}

impl CampaignReport {
    fn is_good(&self) -> bool {
        self.status == "completed" && self.doubled == 0 && self.taken == self.reported_sent
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 messages")]
    fn per_second(&self) -> f64 {
        let (first, last) = (self.first_after.unwrap_or(0.0), self.last_after.unwrap_or(0.0));
        self.taken as f64 / (last - first).max(1e-9)
    }
}

impl Report for CampaignReport {
    fn tables(&self) -> Vec<Table> {
        let seconds =
            |after: Option<f64>| after.map_or_else(|| "never".to_owned(), |s| format!("{s:.2} s"));
        let mut table = Table::pairs("Campaign");
        table.pair("recipients", report::grouped(self.recipients));
        table.pair("ended", &self.status);
        table.pair("taken by the sink", report::grouped(self.taken));
        table.pair("of them more than once", report::grouped(self.doubled));
        table.pair("reported as sent", report::grouped(self.reported_sent));
        table.pair("reported as skipped", report::grouped(self.reported_skipped));
        table.pair("reported as failed", report::grouped(self.reported_failed));
        table.pair("all queued", seconds(self.queued_after));
        table.pair("first message", seconds(self.first_after));
        table.pair("last message", seconds(self.last_after));
        table.pair("completed, by stats", seconds(self.completed_after));
        table.pair("slowest answer of stats", seconds(Some(self.slowest_report)));
        table.pair("messages a second, first to last", report::rate(self.per_second()));
        if self.server.scrapes > 0 {
            table.pair("server memory, most", report::mib(self.server.resident_bytes_max));
            table.pair("server CPU", format!("{:.1} s", self.server.cpu_seconds));
        }
        vec![table]
    }
}
