//! `identities`: profiles by identify calls, then how soon what a link joins is visible.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time};

use super::{Ending, TargetArguments, load::fresh_run_name, load_report::latency_row};
use crate::{
    api::{Api, Requests},
    http::{Connection, Parameter},
    load::{Latencies, Pace, Quantiles},
    report::{self, Report, Table},
    source::EVENTS_PER_REQUEST_MAX,
};

/// Identify calls in a batch while links are sent at a rate.
const LINKS_PER_BATCH: u64 = 10;
/// A link is looked for this often; the lag is measured no finer.
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// Profiles are counted this often: a hundredth of what making 100,000 of them takes, and to count them is work.
const COUNT_PAUSE: Duration = Duration::from_millis(100);
/// Pause between two of the measured links.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);
/// Longest wait for profiles or for an event to be visible.
const PATIENCE: Duration = Duration::from_mins(5);
/// What the contract promises of a link, ms.
const VISIBLE_MS_MAX: f64 = 1_000.0;

#[derive(Args, Debug)]
pub struct IdentitiesArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Profiles to make by identify calls
    #[arg(long, default_value_t = 100_000)]
    count: u64,
    /// Identify calls in a batch
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=5_000))]
    batch: u64,
    /// Keep-alive connections to the API
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    connections: u16,
    /// Links a second while visibility is measured
    #[arg(long, default_value_t = 1_000.0)]
    rate: f64,
    /// Seconds of links at that rate
    #[arg(long, default_value_t = 30.0)]
    duration: f64,
    /// Write the report to this file as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(super) async fn identities(arguments: IdentitiesArguments) -> Result<Ending> {
    ensure!(arguments.rate > 0.0 && arguments.duration > 0.0, "--rate and --duration are positive");
    let run = fresh_run_name();
    let profiles = make_profiles(&arguments, &run).await?;
    let links = measure_links(&arguments, &run).await?;
    let good = links.visible.p99_ms <= VISIBLE_MS_MAX;
    report::publish(&IdentitiesReport { profiles, links }, arguments.json.as_deref())?;
    Ok(Ending::good_if(good))
}

/// Profiles that identify calls made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MadeProfiles {
    profiles: u64,
    acknowledged_per_second: f64,
    /// From the first call to when the list of users names them all.
    visible_per_second: f64,
}

/// Links under load, and how long after their acknowledgement an earlier anonymous event was the person's.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MeasuredLinks {
    sent: u64,
    per_second: f64,
    visible: Quantiles,
}

/// A schedule of batches of identify calls over several connections.
struct Identify {
    requests: Requests,
    /// What external and anonymous ids of these calls begin with.
    prefix: String,
    pace: Pace,
    batch: u64,
    count: u64,
}

impl Identify {
    fn body(&self, number: u64) -> Bytes {
        let first = number * self.batch;
        let calls = (first..(first + self.batch).min(self.count)).map(|n| self.call(n));
        let calls: Vec<Value> = calls.collect();
        json!({"batch": calls}).to_string().into()
    }

    fn call(&self, number: u64) -> Value {
        let prefix = &self.prefix;
        identify_call(&format!("{prefix}-{number}"))
    }

    async fn send(self, arguments: &IdentitiesArguments) -> Result<()> {
        let batches = self.count.div_ceil(self.batch);
        let run = Arc::new(self);
        let mut tasks = JoinSet::new();
        for _ in 0..arguments.connections {
            let connection = Connection::new(arguments.target.endpoint()?);
            tasks.spawn(Arc::clone(&run).send_share(connection, batches));
        }
        while let Some(task) = tasks.join_next().await {
            task??;
        }
        Ok(())
    }

    async fn send_share(self: Arc<Self>, mut connection: Connection, batches: u64) -> Result<()> {
        while let Some(ticket) = self.pace.take(Instant::now()) {
            if ticket.number >= batches {
                break;
            }
            let body = self.body(ticket.number);
            if let Some(due) = ticket.due {
                time::sleep_until(due.into()).await;
            }
            acknowledge(&mut connection, &self.requests, body).await?;
        }
        Ok(())
    }
}

/// An identify call of a person and the anonymous id of the same text.
fn identify_call(id: &str) -> Value {
    json!({
        "type": "identify", "messageId": format!("identify-{id}"), "userId": id,
        "anonymousId": format!("anonymous-{id}"),
        "traits": {"email": format!("{id}@example.test"), "firstName": "Ann", "plan": "team", "seats": 7},
    })
}

/// Sends a batch until the server has room for it.
async fn acknowledge(connection: &mut Connection, requests: &Requests, body: Bytes) -> Result<()> {
    loop {
        let answer = connection.exchange(requests.segment_batch(body.clone())).await?;
        match answer.status {
            200 => return Ok(()),
            503 => time::sleep(answer.retry_after.unwrap_or(LOOK_PAUSE)).await,
            status => {
                bail!("/v1/batch answered {status}: {}", String::from_utf8_lossy(&answer.body))
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 profiles")]
async fn make_profiles(arguments: &IdentitiesArguments, run: &str) -> Result<MadeProfiles> {
    let key = arguments.target.key()?;
    let requests = Requests::new(&arguments.target.endpoint()?, &key)?;
    let mut connection = Connection::new(arguments.target.endpoint()?);
    let before = users(&mut connection, &requests).await?;
    let began = Instant::now();
    let identify = Identify {
        requests: Requests::with_write_key(&arguments.target.endpoint()?, &key)?,
        prefix: format!("loadtest-{run}"),
        pace: Pace::new(began, None, None),
        batch: arguments.batch,
        count: arguments.count,
    };
    identify.send(arguments).await?;
    let acknowledged = began.elapsed();
    while users(&mut connection, &requests).await? < before + arguments.count {
        ensure!(began.elapsed() < PATIENCE, "not all profiles are there after {PATIENCE:?}");
        time::sleep(COUNT_PAUSE).await;
    }
    let per_second = |elapsed: Duration| arguments.count as f64 / elapsed.as_secs_f64();
    Ok(MadeProfiles {
        profiles: arguments.count,
        acknowledged_per_second: per_second(acknowledged),
        visible_per_second: per_second(began.elapsed()),
    })
}

/// How many profiles the workspace has.
async fn users(connection: &mut Connection, requests: &Requests) -> Result<u64> {
    let answer = connection.exchange(requests.get("/users?limit=1")).await?;
    ensure!(answer.status == 200, "/users answered {}", answer.status);
    let answer: Value = serde_json::from_slice(&answer.body)?;
    Ok(answer["pagination"]["total"].as_u64().unwrap_or_default())
}

/// Sends links at the rate, and at the same time links a person whose earlier anonymous event is then looked for.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of a run")]
#[expect(clippy::cast_precision_loss, reason = "a small batch")]
async fn measure_links(arguments: &IdentitiesArguments, run: &str) -> Result<MeasuredLinks> {
    let key = arguments.target.key()?;
    let mut probe = LinkProbe {
        api: arguments.target.api()?,
        connection: Connection::new(arguments.target.endpoint()?),
        requests: Requests::with_write_key(&arguments.target.endpoint()?, &key)?,
        prefix: format!("loadtest-probe-{run}"),
    };
    let probes = (arguments.duration / PROBE_INTERVAL.as_secs_f64()) as usize;
    probe.track_anonymous_events(probes).await?;
    let count = (arguments.duration * arguments.rate) as u64;
    let began = Instant::now();
    let identify = Identify {
        requests: probe.requests.clone(),
        prefix: format!("loadtest-link-{run}"),
        pace: Pace::new(began, Some(arguments.rate / LINKS_PER_BATCH as f64), None),
        batch: LINKS_PER_BATCH,
        count,
    };
    let load = async {
        identify.send(arguments).await?;
        Ok::<_, anyhow::Error>(began.elapsed())
    };
    let (elapsed, visible) = tokio::try_join!(load, probe.link(probes, began))?;
    Ok(MeasuredLinks {
        sent: count,
        per_second: count as f64 / elapsed.as_secs_f64(),
        visible: visible.quantiles(),
    })
}

/// Links people one at a time and asks for their events.
struct LinkProbe {
    api: Api,
    connection: Connection,
    requests: Requests,
    prefix: String,
}

impl LinkProbe {
    fn id(&self, number: usize) -> String {
        format!("{}-{number}", self.prefix)
    }

    /// One event for each anonymous id that will be linked, all of them visible at the end.
    async fn track_anonymous_events(&mut self, count: usize) -> Result<()> {
        let events: Vec<Value> = (0..count)
            .map(|number| {
                let id = self.id(number);
                json!({"anonymousId": format!("anonymous-{id}"), "eventName": self.prefix})
            })
            .collect();
        for events in events.chunks(EVENTS_PER_REQUEST_MAX) {
            let answer = self.api.track(json!(events).to_string().into()).await?;
            ensure!(answer.status < 300, "/events/track answered {}", answer.status);
        }
        let name = self.prefix.clone();
        let question =
            crate::api::Question { event_name: &name, group_by: "day", ..Default::default() };
        let began = Instant::now();
        while self.api.count(&question).await? < count as u64 {
            ensure!(began.elapsed() < PATIENCE, "the anonymous events are not visible");
            time::sleep(LOOK_PAUSE).await;
        }
        Ok(())
    }

    /// Links each person in turn on a schedule; how long until the event was the person's.
    async fn link(mut self, count: usize, began: Instant) -> Result<Latencies> {
        let mut latencies = Latencies::default();
        for number in 0..count {
            let due = began + PROBE_INTERVAL * u32::try_from(number)?;
            time::sleep_until(due.into()).await;
            let id = self.id(number);
            let call = identify_call(&id);
            let body = json!({"batch": [call]}).to_string();
            acknowledge(&mut self.connection, &self.requests, body.into()).await?;
            let acknowledged = Instant::now();
            let of_person = [Parameter::new("userId", &id)];
            while self.api.query(&of_person).await?.is_empty() {
                ensure!(acknowledged.elapsed() < PATIENCE, "the event of {id} is not visible");
                time::sleep(LOOK_PAUSE).await;
            }
            latencies.record(acknowledged.elapsed());
        }
        Ok(latencies)
    }
}

#[derive(Debug, Serialize)]
struct IdentitiesReport {
    profiles: MadeProfiles,
    links: MeasuredLinks,
}

impl Report for IdentitiesReport {
    fn tables(&self) -> Vec<Table> {
        let (profiles, links) = (&self.profiles, &self.links);
        let mut made = Table::pairs("identities: profiles of identify calls");
        made.pair("profiles", report::grouped(profiles.profiles));
        made.pair(
            "acknowledged",
            format!("{} a second", report::rate(profiles.acknowledged_per_second)),
        );
        made.pair("visible", format!("{} a second", report::rate(profiles.visible_per_second)));
        let title = format!(
            "{} links at {} a second; from a link's acknowledgement until the event is the person's",
            report::grouped(links.sent),
            report::rate(links.per_second)
        );
        let mut visible = Table::new(&title, &["ms", "count", "p50", "p90", "p99", "p99.9", "max"]);
        visible.row(latency_row("link visible", &links.visible));
        vec![made, visible]
    }
}
