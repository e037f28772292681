//! `millrace doctor`: checks the machine and the settings, and says what to do. It changes nothing and sends nothing.

mod backlog;
mod channels;
mod clickhouse_server;
mod clocks;
mod connection;
mod deployment;
mod disk;
mod domains;
mod endpoints;
mod finding;
mod machine;
mod ports;
mod postgres_server;
mod running;

use std::time::Duration;

use analytics::Analytics;
use anyhow::bail;
use clap::Args;
use config::Settings;
use engines::{ClickHouseAddress, DataDir, EngineOptions, RunningEngines};
use kernel::Clock;
use sqlx::postgres::PgConnectOptions;
use web::db;

use self::{
    backlog::Moment,
    finding::{Finding, Status},
};

/// How long PostgreSQL may take to take a connection.
const CONNECT_MAX: Duration = Duration::from_secs(5);
const CONNECTIONS_MAX: u32 = 2;

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Doctor {
    /// Prints the findings as one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints a line for each finding.
///
/// # Errors
/// If something is wrong; warnings alone are no error.
pub(super) async fn run(
    command: Doctor,
    settings: Result<Settings, config::Error>,
) -> anyhow::Result<()> {
    let findings = match settings {
        Ok(settings) => examine(&settings).await,
        Err(error) => vec![Finding::wrong(
            "settings",
            error.to_string(),
            "correct it; nothing else was checked",
        )],
    };
    finding::print(&findings, command.json)?;
    match finding::count(&findings, Status::Wrong) {
        0 => Ok(()),
        wrong => {
            bail!("{wrong} of {} findings are wrong: what to do stands beside each", findings.len())
        }
    }
}

async fn examine(settings: &Settings) -> Vec<Finding> {
    let clock = Clock::system();
    let mut findings = of_settings(settings);
    let (data, server_pid) = match data_dir(settings) {
        Ok(found) => found,
        Err(finding) => {
            findings.push(finding);
            (None, None)
        }
    };
    let spool = backlog::read_spool(data.as_ref());
    let survey = spool.as_ref().ok().and_then(Option::as_ref);
    findings.push(running::server(settings, server_pid).await);
    findings.extend(disk::check(settings, survey));
    findings.extend(machine::check(settings, server_pid));
    findings.extend(ports::check(settings, server_pid));
    findings.extend(running::engines(settings));
    findings.extend(of_stores(settings, data.as_ref(), &clock).await);
    if let Some(data) = &data {
        let moment = Moment { now: clock.now(), server_runs: server_pid.is_some() };
        findings.extend(backlog::check(settings, data, &spool, moment));
    }
    findings.extend(channels::check(settings, &clock).await);
    findings.push(deployment::public_url(settings, &clock));
    findings.push(endpoints::collector(settings).await);
    findings.push(endpoints::openid(settings).await);
    findings
}

fn of_settings(settings: &Settings) -> Vec<Finding> {
    let notices = settings.notices.iter();
    let mut findings: Vec<Finding> = notices
        .map(|notice| Finding::warning("settings", notice, "correct the setting that it names"))
        .collect();
    if findings.is_empty() {
        findings.push(Finding::ok("settings", "valid"));
    }
    findings
}

/// The data directory, if there is one, and the server that has it.
fn data_dir(settings: &Settings) -> Result<(Option<DataDir>, Option<u32>), Finding> {
    let found = DataDir::existing(&settings.data_dir).and_then(|data| {
        let pid = data.as_ref().map(DataDir::server_pid).transpose()?.flatten();
        Ok((data, pid))
    });
    found.map_err(|error| {
        let action = "run this command as the user that runs Millrace";
        Finding::wrong("data directory", error.to_string(), action)
    })
}

/// Checks of the stores, and of what only they know.
async fn of_stores(settings: &Settings, data: Option<&DataDir>, clock: &Clock) -> Vec<Finding> {
    let running = match EngineOptions::from_settings(settings) {
        Ok(options) => RunningEngines::find(&options, data).await,
        Err(error) => Err(error),
    };
    let RunningEngines { postgres, clickhouse } = match running {
        Ok(running) => running,
        Err(error) => {
            let action = "correct DATABASE_URL and CLICKHOUSE_URL";
            return vec![Finding::wrong("stores", error.to_string(), action)];
        }
    };
    let of_postgres = async {
        match postgres {
            Some(options) => on_postgres(settings, data, clock, options).await,
            None => vec![unchecked("PostgreSQL")],
        }
    };
    let of_clickhouse = async {
        match clickhouse {
            Some(address) => on_clickhouse(settings, clock, &address).await,
            None => vec![unchecked("ClickHouse")],
        }
    };
    let (mut findings, others) = tokio::join!(of_postgres, of_clickhouse);
    findings.extend(others);
    findings
}

/// An embedded engine that does not run: starting it would change its files.
fn unchecked(engine: &'static str) -> Finding {
    Finding::warning(
        engine,
        "not checked: the embedded one does not run",
        "start millrace serve and run this command beside it",
    )
}

async fn on_postgres(
    settings: &Settings,
    data: Option<&DataDir>,
    clock: &Clock,
    options: PgConnectOptions,
) -> Vec<Finding> {
    let pool = db::connect(options, CONNECTIONS_MAX, CONNECT_MAX);
    if let Err(finding) = postgres_server::answers(&pool).await {
        return vec![finding];
    }
    let mut findings = postgres_server::check(settings, &pool).await;
    findings.push(clocks::of_postgres(&pool, clock).await);
    findings.push(deployment::master_key(settings, data, &pool).await);
    findings.extend(domains::check(settings, &pool).await);
    pool.close().await;
    findings
}

async fn on_clickhouse(
    settings: &Settings,
    clock: &Clock,
    address: &ClickHouseAddress,
) -> Vec<Finding> {
    let analytics = match Analytics::connect(&address.for_analytics()) {
        Ok(analytics) => analytics,
        Err(error) => {
            let finding = Finding::wrong("ClickHouse", error.to_string(), "correct CLICKHOUSE_URL");
            return vec![finding];
        }
    };
    if let Err(finding) = clickhouse_server::answers(&analytics).await {
        return vec![finding];
    }
    let mut findings = clickhouse_server::check(settings, &analytics).await;
    let behind_max = settings.ingest.clock_behind_max_seconds;
    findings.push(clocks::of_clickhouse(&analytics, clock, behind_max).await);
    findings
}
