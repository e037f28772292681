//! `verify`: the oracle's verdict on a journal.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use clap::Args;
use uuid::Uuid;

use super::{Ending, TargetArguments};
use crate::{journal::Ledger, oracle::Oracle, report};

#[derive(Args, Debug)]
pub struct VerifyArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// The journal that `generate` or `replay` wrote
    #[arg(long)]
    journal: PathBuf,
    /// Wait up to this many seconds for acknowledged events to land
    #[arg(long, default_value_t = 60.0)]
    wait: f64,
    /// Acknowledged events to look up one by one through the API
    #[arg(long, default_value_t = 50)]
    samples: u64,
    /// The workspace's id; without it, it is found out by sending one marker event
    #[arg(long)]
    workspace: Option<Uuid>,
    /// Write the verdict to this file as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(super) async fn verify(arguments: VerifyArguments) -> Result<Ending> {
    let target = &arguments.target;
    let wait = Duration::try_from_secs_f64(arguments.wait).context("--wait is not negative")?;
    let mut ledger = Ledger::read(&arguments.journal)?;
    let (api, clickhouse) = (target.api()?, target.clickhouse()?);
    let oracle = match arguments.workspace {
        Some(workspace) => Oracle::new(api, clickhouse, workspace),
        None => Oracle::of_key(api, clickhouse).await?,
    };
    let verdict = oracle.with_samples(arguments.samples).check(&mut ledger, wait).await?;
    report::publish(&verdict, arguments.json.as_deref())?;
    Ok(Ending::good_if(verdict.is_clean()))
}
