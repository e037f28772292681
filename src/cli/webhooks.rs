//! `millrace webhooks …`: the secret that receivers verify webhooks with.

use clap::Subcommand;
use config::Settings;
use engines::{DataDir, vault::Vault};
use providers::signing_secret;
use secrecy::ExposeSecret as _;
use web::auth::keys;

use super::{output, stores};

#[derive(Debug, Subcommand)]
pub(super) enum Webhooks {
    /// Prints the secret that signs the webhooks of a workspace (Standard Webhooks)
    Secret {
        /// The name of the workspace
        #[arg(long, value_name = "NAME")]
        workspace: String,
    },
}

pub(super) async fn run(command: Webhooks, settings: &Settings) -> anyhow::Result<()> {
    let Webhooks::Secret { workspace } = command;
    let vault = Vault::from_settings(settings, &DataDir::open(&settings.data_dir)?)?;
    let workspace = stores::with_postgres(settings, async |pool| {
        Ok(keys::find_workspace(pool, &workspace).await?)
    })
    .await?;
    output::line(signing_secret(&vault, workspace).expose_secret())
}
