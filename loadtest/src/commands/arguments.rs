//! Arguments that several commands share.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::{
    api::Api,
    clickhouse::ClickHouse,
    target::{ApiKey, ClickHouseTarget, Endpoint},
};

/// Where the server and its ClickHouse are.
#[derive(Args, Clone, Debug)]
pub struct TargetArguments {
    /// Base URL of the API
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    pub url: String,
    /// The admin listener, e.g. http://127.0.0.1:9090: memory, CPU and backlog of the server
    #[arg(long)]
    pub admin: Option<String>,
    /// API key with events:write and events:read
    #[arg(long, env = "MILLRACE_KEY", hide_env_values = true)]
    pub key: Option<String>,
    /// The server's data directory, in which the address of its embedded ClickHouse is found
    #[arg(long, env = "MILLRACE_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// ClickHouse's HTTP interface, http://user:pass@host:port/db
    #[arg(long, conflicts_with = "data_dir", hide_env_values = true, env = "CLICKHOUSE_URL")]
    pub clickhouse: Option<String>,
    /// Allow addresses that are not this machine's
    #[arg(long)]
    pub allow_remote: bool,
}

impl TargetArguments {
    /// Where the API listens.
    ///
    /// # Errors
    /// An address that is not plain HTTP, or another machine's.
    pub fn endpoint(&self) -> Result<Endpoint> {
        Endpoint::parse(&self.url, self.allow_remote)
    }

    /// The API key.
    ///
    /// # Errors
    /// None was given.
    pub fn key(&self) -> Result<ApiKey> {
        let key = self.key.clone().context("an API key is needed: --key or MILLRACE_KEY")?;
        Ok(ApiKey::new(key))
    }

    /// A connection for calls that are not load.
    ///
    /// # Errors
    /// As [`TargetArguments::endpoint`] and [`TargetArguments::key`].
    pub fn api(&self) -> Result<Api> {
        Api::new(&self.endpoint()?, &self.key()?)
    }

    /// The admin listener, where one was named.
    ///
    /// # Errors
    /// As [`TargetArguments::endpoint`].
    pub fn admin_endpoint(&self) -> Result<Option<Endpoint>> {
        self.admin.as_deref().map(|admin| Endpoint::parse(admin, self.allow_remote)).transpose()
    }

    /// Where ClickHouse listens.
    ///
    /// # Errors
    /// Neither an address nor a data directory was given, or it does not hold one.
    pub fn clickhouse_target(&self) -> Result<ClickHouseTarget> {
        match (&self.data_dir, &self.clickhouse) {
            (Some(data_dir), _) => ClickHouseTarget::from_data_dir(data_dir, self.allow_remote),
            (None, Some(address)) => ClickHouseTarget::parse(address, self.allow_remote),
            (None, None) => anyhow::bail!("ClickHouse is needed: --data-dir or --clickhouse"),
        }
    }

    /// A connection to ClickHouse.
    ///
    /// # Errors
    /// As [`TargetArguments::clickhouse_target`].
    pub fn clickhouse(&self) -> Result<ClickHouse> {
        ClickHouse::new(&self.clickhouse_target()?)
    }
}

/// How load is sent and what is written down about it.
#[derive(Args, Clone, Debug)]
pub struct LoadArguments {
    /// Keep-alive connections to the API
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub connections: u16,
    /// Threads they are spread over
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,
    /// Events a second, on a schedule that latencies are measured against; flat out without it
    #[arg(long)]
    pub rate: Option<f64>,
    /// Stop after this many seconds
    #[arg(long)]
    pub duration: Option<f64>,
    /// Share of requests, 0 to 1, that send an earlier batch again with the same clientEventIds
    #[arg(long, default_value_t = 0.0)]
    pub retries: f64,
    /// Decides what is generated and which requests are repeats
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write every sent and acknowledged id to this file, for `verify`
    #[arg(long)]
    pub journal: Option<PathBuf>,
    /// Wait this many seconds (60 when none are named) for a server that is gone, then send again what it did not acknowledge
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "60")]
    pub ride_out: Option<f64>,
    /// Send a marker event every 100 ms and measure how long after its ack it can be read
    #[arg(long, conflicts_with = "ride_out")]
    pub probe: bool,
    /// Do not wait for the backlog to drain (needs --admin) after the load
    #[arg(long)]
    pub no_drain: bool,
    /// Write the report to this file as JSON
    #[arg(long)]
    pub json: Option<PathBuf>,
}
