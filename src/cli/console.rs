//! `millrace console …`: links that sign in at the console, and its sessions.

use ::console::sign_in::{self, LINK_ACTOR, NewLink, SessionRow};
use clap::{Args, Subcommand};
use config::Settings;
use kernel::{Clock, page::PageWindow};
use web::auth::{ScopeSet, keys};

use super::{output, stores};

#[derive(Debug, Subcommand)]
pub(super) enum Console {
    /// Prints a link that signs in once, within an hour
    Link(Link),
    /// Lists the sessions of a workspace; `millrace sessions revoke` ends one
    Sessions {
        /// The name of the workspace
        #[arg(long, value_name = "NAME")]
        workspace: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct Link {
    /// The name of the workspace
    #[arg(long, value_name = "NAME")]
    workspace: String,
    /// What the session may do, separated by commas; `*` is everything
    #[arg(long, value_name = "LIST", default_value = "*")]
    scopes: ScopeSet,
    /// Who signs in by it, in audit entries
    #[arg(long, value_name = "WHO", default_value = LINK_ACTOR)]
    actor: String,
}

pub(super) async fn run(command: Console, settings: &Settings) -> anyhow::Result<()> {
    let now = Clock::system().now();
    match command {
        Console::Link(Link { workspace, scopes, actor }) => {
            anyhow::ensure!(
                settings.console == config::Console::On,
                "the console is off: set console = \"on\", or MILLRACE_CONSOLE=on"
            );
            let public_url = settings.public_url();
            let url = stores::with_postgres(settings, async |pool| {
                let workspace = keys::find_workspace(pool, &workspace).await?;
                let new = NewLink { workspace, actor, scopes };
                Ok(sign_in::create_link(pool, now, &public_url, &new).await?)
            })
            .await?;
            output::line(url.as_str())
        }
        Console::Sessions { workspace } => {
            let rows = stores::with_postgres(settings, async |pool| {
                let workspace = keys::find_workspace(pool, &workspace).await?;
                let all = PageWindow { limit: u32::MAX, offset: 0 };
                Ok(sign_in::list(pool, now, workspace, all).await?.rows)
            })
            .await?;
            let head = ["ID", "ACTOR", "SCOPES", "ADDRESS", "CREATED", "LAST USED", "EXPIRES"];
            output::table(head, rows.into_iter().map(cells))
        }
    }
}

fn cells(session: SessionRow) -> [String; 7] {
    [
        session.id,
        session.actor,
        session.scopes.join(","),
        session.address.unwrap_or_else(|| "-".to_owned()),
        session.created_at.to_string(),
        session.last_used_at.to_string(),
        session.expires_at.to_string(),
    ]
}
