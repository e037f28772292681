//! `queries`: how long the API takes to answer the usual questions.

use std::{collections::HashMap, path::PathBuf, time::Instant};

use anyhow::{Context, Result, ensure};
use chrono::{DateTime, Duration, NaiveDateTime, SecondsFormat, Utc};
use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;

use super::{Ending, TargetArguments, load_report::latency_row};
use crate::{
    api::{Api, EventRead, Question},
    http::Parameter,
    load::{Latencies, Quantiles},
    report::{self, Report, Table},
};

/// Unmeasured rounds before the first measured one.
const WARM_UP_ROUNDS: usize = 3;
/// The specification's page size limit of `GET /events/query`.
const QUERY_PAGE_MAX: &str = "1000";

#[derive(Args, Debug)]
pub struct QueriesArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Measured rounds of each question
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// The event to aggregate; the most frequent of the newest thousand unless named
    #[arg(long)]
    event_name: Option<String>,
    /// The numeric property to sum; the first of that event unless named
    #[arg(long)]
    sum_field: Option<String>,
    /// Days to aggregate over, back from the newest event
    #[arg(long, default_value_t = 30)]
    days: u16,
    /// Write the report to this file as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What is asked, found out from the newest events.
struct Subject {
    event_name: String,
    sum_field: Option<String>,
    start_date: String,
    end_date: String,
    users: Vec<String>,
}

pub(super) async fn queries(arguments: QueriesArguments) -> Result<Ending> {
    let mut api = arguments.target.api()?;
    let subject = Subject::find(&mut api, &arguments).await?;
    let mut measured: Vec<Measured> = QUESTIONS
        .iter()
        .filter(|asked| {
            subject.sum_field.is_some() || !matches!(asked.kind, Kind::Aggregate { sum: true })
        })
        .map(|asked| Measured { asked, latencies: Latencies::default(), answered: 0 })
        .collect();
    let rounds = usize::from(arguments.rounds) + WARM_UP_ROUNDS;
    let bar = ProgressBar::new(rounds as u64);
    for round in 0..rounds {
        for one in &mut measured {
            let started = Instant::now();
            one.answered = subject.ask(&mut api, one.asked.kind, round).await?;
            if round >= WARM_UP_ROUNDS {
                one.latencies.record(started.elapsed());
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let report = QueriesReport::new(&subject, measured);
    report::publish(&report, arguments.json.as_deref())?;
    Ok(Ending::Good)
}

#[derive(Clone, Copy)]
enum Kind {
    Aggregate { sum: bool },
    NewestOfWorkspace,
    NewestOfUser,
}

struct Asked {
    label: &'static str,
    kind: Kind,
    /// What the design wants of the median, milliseconds.
    at_most_ms: f64,
}

const QUESTIONS: [Asked; 4] = [
    Asked {
        label: "count one event name by day",
        kind: Kind::Aggregate { sum: false },
        at_most_ms: 100.0,
    },
    Asked {
        label: "sum one event name by day",
        kind: Kind::Aggregate { sum: true },
        at_most_ms: 100.0,
    },
    Asked { label: "newest 100 of the workspace", kind: Kind::NewestOfWorkspace, at_most_ms: 50.0 },
    Asked { label: "newest 50 of one user", kind: Kind::NewestOfUser, at_most_ms: 50.0 },
];

struct Measured {
    asked: &'static Asked,
    latencies: Latencies,
    answered: u64,
}

impl Subject {
    async fn find(api: &mut Api, arguments: &QueriesArguments) -> Result<Self> {
        let newest = api.query(&[Parameter::new("limit", QUERY_PAGE_MAX)]).await?;
        let first = newest.first().context("there are no events in the workspace")?;
        let end = NaiveDateTime::parse_from_str(&first.timestamp, "%Y-%m-%d %H:%M:%S")
            .context("an event's timestamp has another form")?
            .and_utc()
            + Duration::seconds(1);
        let event_name = arguments.event_name.clone().unwrap_or_else(|| most_frequent(&newest));
        let sum_field = arguments.sum_field.clone().or_else(|| {
            let of_name = newest.iter().filter(|event| event.event_name == event_name);
            of_name
                .flat_map(|event| &event.properties)
                .find(|(_, value)| value.is_number())
                .map(|(name, _)| name.clone())
        });
        let mut users: Vec<_> =
            newest.into_iter().map(|event| event.user_id).filter(|user| !user.is_empty()).collect();
        users.sort_unstable();
        users.dedup();
        ensure!(!users.is_empty(), "none of the newest events has a userId");
        let text = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
        let start_date = text(end - Duration::days(i64::from(arguments.days)));
        Ok(Self { event_name, sum_field, start_date, end_date: text(end), users })
    }

    /// Asks once; the answer is how many events it speaks of.
    async fn ask(&self, api: &mut Api, kind: Kind, round: usize) -> Result<u64> {
        match kind {
            Kind::Aggregate { sum } => {
                let question = Question {
                    event_name: &self.event_name,
                    start_date: Some(self.start_date.clone()),
                    end_date: Some(self.end_date.clone()),
                    group_by: "day",
                    metrics: if sum { Some(&["count", "sum"]) } else { None },
                    sum_field: if sum { self.sum_field.as_deref() } else { None },
                };
                api.count(&question).await
            }
            Kind::NewestOfWorkspace => {
                count_ids(&api.query_raw(&[Parameter::new("limit", "100")]).await?)
            }
            Kind::NewestOfUser => {
                let user = &self.users[round % self.users.len()];
                count_ids(
                    &api.query_raw(&[
                        Parameter::new("userId", user),
                        Parameter::new("limit", "50"),
                    ])
                    .await?,
                )
            }
        }
    }
}

fn count_ids(answer: &[u8]) -> Result<u64> {
    let events: Vec<serde::de::IgnoredAny> = serde_json::from_slice(answer)?;
    Ok(events.len() as u64)
}

fn most_frequent(events: &[EventRead]) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for event in events {
        *counts.entry(&event.event_name).or_default() += 1;
    }
    // By name among equals, so that the choice does not depend on the map's order.
    let most = counts.into_iter().max_by_key(|(name, count)| (*count, *name));
    most.map(|(name, _)| name.to_owned()).unwrap_or_default()
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct QueriesReport {
    event_name: String,
    start_date: String,
    end_date: String,
    questions: Vec<QuestionFigures>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct QuestionFigures {
    question: &'static str,
    events_in_answer: u64,
    at_most_ms: f64,
    latency: Quantiles,
}

impl QueriesReport {
    fn new(subject: &Subject, measured: Vec<Measured>) -> Self {
        let questions = measured.into_iter().map(|one| QuestionFigures {
            question: one.asked.label,
            events_in_answer: one.answered,
            at_most_ms: one.asked.at_most_ms,
            latency: one.latencies.quantiles(),
        });
        Self {
            event_name: subject.event_name.clone(),
            start_date: subject.start_date.clone(),
            end_date: subject.end_date.clone(),
            questions: questions.collect(),
        }
    }
}

impl Report for QueriesReport {
    fn tables(&self) -> Vec<Table> {
        let title = format!(
            "queries through the API, ms ({}, {} to {})",
            self.event_name, self.start_date, self.end_date
        );
        let columns =
            ["question", "count", "p50", "p90", "p99", "p99.9", "max", "wanted", "events"];
        let mut table = Table::new(&title, &columns);
        for figures in &self.questions {
            let mut row = latency_row(figures.question, &figures.latency);
            row.push(format!("{:.0}", figures.at_most_ms));
            row.push(report::grouped(figures.events_in_answer));
            table.row(row);
        }
        vec![table]
    }
}
