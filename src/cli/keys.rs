//! `millrace keys …`: creates, lists and revokes API keys and SDK keys.

use clap::{Args, Subcommand};
use config::Settings;
use kernel::{Clock, Country, KeyId, Timestamp};
use secrecy::ExposeSecret as _;
use web::auth::{
    KeyKind, ScopeSet,
    keys::{self, KeyRow, NewKey},
};

use super::{output, stores};

#[derive(Debug, Subcommand)]
pub(super) enum Keys {
    /// Makes a key, and the workspace when it is new; prints the key, this once
    Create(Create),
    /// Lists the keys of a workspace, revoked ones included
    List {
        /// The name of the workspace
        #[arg(long, value_name = "NAME")]
        workspace: String,
    },
    /// Revokes a key; running servers refuse it within a second
    Revoke {
        /// The key's id: the part between the first two underscores
        id: KeyId,
    },
}

#[derive(Debug, Args)]
pub(super) struct Create {
    /// The workspace's name; it is made when it is new
    #[arg(long, value_name = "NAME")]
    workspace: String,
    /// What the key may do, separated by commas; `*` is everything
    #[arg(long, value_name = "LIST", required_unless_present = "sdk", conflicts_with = "sdk")]
    scopes: Option<ScopeSet>,
    /// Makes a key for client SDKs instead, which has no scopes
    #[arg(long)]
    sdk: bool,
    /// What the key is called in lists
    #[arg(long, value_name = "LABEL")]
    name: Option<String>,
    /// The organization of a new workspace; its own when none is named
    #[arg(long, value_name = "NAME")]
    organization: Option<String>,
    /// The workspace's currency (ISO 4217), in which revenue is summed
    #[arg(long, value_name = "CODE")]
    currency: Option<String>,
    /// The country (ISO 3166-1) by which the workspace reads national phone numbers
    #[arg(long, value_name = "CODE")]
    country: Option<Country>,
}

pub(super) async fn run(command: Keys, settings: &Settings) -> anyhow::Result<()> {
    let now = Clock::system().now();
    match command {
        Keys::Create(create) => {
            let created = stores::with_postgres(settings, async |pool| {
                Ok(keys::create(pool, now, create.into()).await?)
            })
            .await?;
            output::line(created.token.expose_secret())
        }
        Keys::List { workspace } => {
            let rows = stores::with_postgres(settings, async |pool| {
                Ok(keys::list(pool, &workspace).await?)
            })
            .await?;
            let head = ["ID", "KIND", "LABEL", "SCOPES", "CREATED", "LAST USED", "REVOKED"];
            output::table(head, rows.into_iter().map(cells))
        }
        Keys::Revoke { id } => {
            stores::with_postgres(settings, async |pool| Ok(keys::revoke(pool, now, id).await?))
                .await
        }
    }
}

impl From<Create> for NewKey {
    fn from(create: Create) -> Self {
        Self {
            workspace: create.workspace,
            organization: create.organization,
            scopes: create.scopes.unwrap_or(ScopeSet::NONE),
            label: create.name,
            currency: create.currency,
            country: create.country,
            kind: if create.sdk { KeyKind::Sdk } else { KeyKind::Api },
        }
    }
}

fn cells(key: KeyRow) -> [String; 7] {
    let time = |time: Option<Timestamp>| time.map_or("-".to_owned(), |time| time.to_string());
    [
        key.id,
        key.kind,
        key.label.unwrap_or_default(),
        key.scopes.join(","),
        key.created_at.to_string(),
        time(key.last_used_at),
        time(key.revoked_at),
    ]
}
