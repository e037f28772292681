//! `insights`: how long insights take, beside hand-written SQL on the same tables.

use std::{path::PathBuf, time::Instant};

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Ending, TargetArguments, caller::Caller};
use crate::{
    clickhouse::ClickHouse,
    clock,
    http::Parameter,
    load::{Latencies, Quantiles},
    oracle::Oracle,
    report::{self, Report, Table},
};

/// Unmeasured rounds before the first measured one.
const WARM_UP_ROUNDS: u16 = 1;
const DAY_MS: i64 = 86_400_000;
const TREND: &str = include_str!("../sql/insights/trend.sql");
const BREAKDOWN: &str = include_str!("../sql/insights/breakdown.sql");
const FUNNEL: &str = include_str!("../sql/insights/funnel.sql");
const RETENTION: &str = include_str!("../sql/insights/retention.sql");

#[derive(Args, Debug)]
pub struct InsightsArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Measured rounds of each question
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Days to ask about, back from --until
    #[arg(long, default_value_t = 30)]
    days: u16,
    /// The newest instant to ask about; now without it
    #[arg(long)]
    until: Option<DateTime<Utc>>,
    /// Write the report to this file as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

/// A question, and the SQL that one would write for it.
struct Asked {
    label: &'static str,
    path: &'static str,
    body: Value,
    event_name: &'static str,
    sql: String,
}

#[derive(Clone, Copy)]
struct Span {
    start_ms: i64,
    end_ms: i64,
}

impl Span {
    fn questions(self) -> Vec<Asked> {
        let text = |ms| DateTime::<Utc>::from_timestamp_millis(ms).map(|at| at.to_rfc3339());
        let (from, to) = (text(self.start_ms), text(self.end_ms));
        let trend = |label, series: Value, sql: String| Asked {
            label,
            path: "/insights/trends",
            body: json!({"series": [series], "from": from, "to": to}),
            event_name: "Product Viewed",
            sql,
        };
        let viewed = |metric: &str| json!({"eventName": "Product Viewed", "metric": metric});
        let figure = |figure: &str| TREND.replace("$figure$", figure);
        let person = "if(user_id != '', user_id, anonymous_id)";
        let counted = trend("trend by day", viewed("count"), figure("count()"));
        let mut broken_down =
            trend("trend by day and value", viewed("count"), BREAKDOWN.to_owned());
        broken_down.body["breakdown"] = json!({"property": "category"});
        let step = |name: &str| json!({"eventName": name});
        vec![
            counted,
            broken_down,
            trend("people by day", viewed("unique"), figure(&format!("uniqExact({person})"))),
            trend(
                "sum by day",
                json!({"eventName": "Product Viewed", "metric": "sum", "field": "unitPrice"}),
                figure("sum(numbers['unitPrice'])"),
            ),
            Asked {
                label: "funnel of three steps",
                path: "/insights/funnels",
                body: json!({
                    "steps": [step("Product Viewed"), step("Added To Cart"), step("Order Completed")],
                    "window": {"amount": 7, "unit": "days"}, "from": from, "to": to,
                }),
                event_name: "",
                sql: FUNNEL.to_owned(),
            },
            Asked {
                label: "retention by week",
                path: "/insights/retention",
                body: json!({
                    "start": step("Product Viewed"), "return": step("Product Viewed"),
                    "interval": "week", "intervals": 8, "from": from, "to": to,
                }),
                event_name: "Product Viewed",
                sql: RETENTION.to_owned(),
            },
        ]
    }
}

/// Asks the API and ClickHouse.
struct Asker {
    caller: Caller,
    clickhouse: ClickHouse,
    workspace: String,
    span: Span,
}

impl Asker {
    async fn open(arguments: &InsightsArguments) -> Result<Self> {
        let (api, clickhouse) = (arguments.target.api()?, arguments.target.clickhouse()?);
        let workspace = Oracle::of_key(api, clickhouse).await?.workspace();
        let until = arguments.until.map_or_else(clock::now_ms, |it| it.timestamp_millis());
        let span = Span { start_ms: until - i64::from(arguments.days) * DAY_MS, end_ms: until };
        Ok(Self {
            caller: Caller::new(&arguments.target)?,
            clickhouse: arguments.target.clickhouse()?,
            workspace: workspace.to_string(),
            span,
        })
    }

    async fn by_api(&mut self, asked: &Asked, into: &mut Latencies) -> Result<()> {
        let started = Instant::now();
        self.caller.call("POST", asked.path, Some(&asked.body)).await?;
        into.record(started.elapsed());
        Ok(())
    }

    async fn by_sql(&mut self, asked: &Asked, into: &mut Latencies) -> Result<()> {
        let (start, end) = (self.span.start_ms.to_string(), self.span.end_ms.to_string());
        let parameters = [
            Parameter::new("workspace", &self.workspace),
            Parameter::new("event_name", asked.event_name),
            Parameter::new("property", "category"),
            Parameter::new("start_ms", &start),
            Parameter::new("end_ms", &end),
        ];
        let started = Instant::now();
        self.clickhouse.execute(&asked.sql, &parameters).await.context(asked.label)?;
        into.record(started.elapsed());
        Ok(())
    }
}

pub(super) async fn insights(arguments: InsightsArguments) -> Result<Ending> {
    let mut asker = Asker::open(&arguments).await?;
    let questions = asker.span.questions();
    let rounds = WARM_UP_ROUNDS + arguments.rounds;
    let bar = ProgressBar::new(questions.len() as u64 * u64::from(rounds));
    let mut figures = Vec::new();
    for asked in &questions {
        let (mut by_api, mut by_sql) = (Latencies::default(), Latencies::default());
        for round in 0..rounds {
            if round == WARM_UP_ROUNDS {
                (by_api, by_sql) = (Latencies::default(), Latencies::default());
            }
            asker.by_api(asked, &mut by_api).await?;
            asker.by_sql(asked, &mut by_sql).await?;
            bar.inc(1);
        }
        figures.push(Figures {
            question: asked.label,
            by_api: by_api.quantiles(),
            by_sql: by_sql.quantiles(),
        });
    }
    bar.finish_and_clear();
    let report = InsightsReport { days: arguments.days, questions: figures };
    report::publish(&report, arguments.json.as_deref())?;
    Ok(Ending::Good)
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    question: &'static str,
    by_api: Quantiles,
    by_sql: Quantiles,
}

#[derive(Debug, Serialize)]
struct InsightsReport {
    days: u16,
    questions: Vec<Figures>,
}

impl Report for InsightsReport {
    fn tables(&self) -> Vec<Table> {
        let title = format!("insights of {} days beside hand-written SQL, ms", self.days);
        let columns = ["question", "count", "p50", "p90", "SQL p50", "SQL p90", "ratio of p50"];
        let mut table = Table::new(&title, &columns);
        for Figures { question, by_api, by_sql } in &self.questions {
            table.row(vec![
                (*question).to_owned(),
                report::grouped(by_api.count),
                format!("{:.1}", by_api.p50_ms),
                format!("{:.1}", by_api.p90_ms),
                format!("{:.1}", by_sql.p50_ms),
                format!("{:.1}", by_sql.p90_ms),
                format!("{:.2}", by_api.p50_ms / by_sql.p50_ms),
            ]);
        }
        vec![table]
    }
}
