//! `millrace sdk …`: the keys that verify the user tokens of apps.

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use config::Settings;
use engines::{DataDir, vault::Vault};
use kernel::Clock;
use sdk::{
    model::PEM_BYTES_MAX,
    ops::token_keys::{self, RegisteredKey},
};
use secrecy::ExposeSecret as _;
use web::auth::keys::find_workspace;

use super::{output, stores};

#[derive(Debug, Subcommand)]
pub(super) enum Sdk {
    /// Prints the secret that a backend signs user tokens with (HS256); it is made at the first call
    Secret(Secret),
    /// Public keys that user tokens are checked with (ES256, RS256)
    #[command(subcommand)]
    Keys(Keys),
}

#[derive(Debug, Args)]
pub(super) struct Secret {
    /// The name of the workspace
    #[arg(long, value_name = "NAME")]
    workspace: String,
    /// Makes a new secret; the one before is taken for another 24 hours
    #[arg(long)]
    rotate: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Keys {
    /// Registers a public key and prints its id
    Add {
        /// The name of the workspace
        #[arg(long, value_name = "NAME")]
        workspace: String,
        /// A PEM file: a P-256 key, or an RSA key of at least 2048 bits
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Lists the public keys of a workspace
    List {
        /// The name of the workspace
        #[arg(long, value_name = "NAME")]
        workspace: String,
    },
    /// Removes a public key; running servers take its tokens no more within a second
    Remove {
        /// The id of the key
        id: String,
    },
}

pub(super) async fn run(command: Sdk, settings: &Settings) -> anyhow::Result<()> {
    match command {
        Sdk::Secret(secret) => print_secret(secret, settings).await,
        Sdk::Keys(Keys::Add { workspace, file }) => add(&workspace, file, settings).await,
        Sdk::Keys(Keys::List { workspace }) => {
            let keys = stores::with_postgres(settings, async |pool| {
                let workspace = find_workspace(pool, &workspace).await?;
                Ok(token_keys::list(pool, workspace).await?)
            })
            .await?;
            output::table(["ID", "ALGORITHM", "CREATED"], keys.into_iter().map(cells))
        }
        Sdk::Keys(Keys::Remove { id }) => {
            stores::with_postgres(settings, async |pool| Ok(token_keys::remove(pool, &id).await?))
                .await
        }
    }
}

async fn print_secret(secret: Secret, settings: &Settings) -> anyhow::Result<()> {
    let Secret { workspace, rotate } = secret;
    let vault = Vault::from_settings(settings, &DataDir::open(&settings.data_dir)?)?;
    let now = Clock::system().now();
    let secret = stores::with_postgres(settings, async |pool| {
        let workspace = find_workspace(pool, &workspace).await?;
        Ok(if rotate {
            token_keys::rotate(pool, &vault, workspace, now).await?
        } else {
            token_keys::secret(pool, &vault, workspace, now).await?
        })
    })
    .await?;
    output::line(secret.expose_secret())
}

async fn add(workspace: &str, file: PathBuf, settings: &Settings) -> anyhow::Result<()> {
    let unreadable = || format!("cannot read {}", file.display());
    let size = fs::metadata(&file).with_context(unreadable)?.len();
    anyhow::ensure!(
        size <= PEM_BYTES_MAX as u64,
        "{} is no key: it has more than {PEM_BYTES_MAX} bytes",
        file.display()
    );
    let pem = fs::read_to_string(&file).with_context(unreadable)?;
    let now = Clock::system().now();
    let key = stores::with_postgres(settings, async |pool| {
        let workspace = find_workspace(pool, workspace).await?;
        Ok(token_keys::add(pool, workspace, now, &pem).await?)
    })
    .await?;
    output::line(&key.id)
}

fn cells(registered: RegisteredKey) -> [String; 3] {
    let RegisteredKey { key, created_at } = registered;
    [key.id, key.algorithm.as_str().to_owned(), created_at.to_string()]
}
