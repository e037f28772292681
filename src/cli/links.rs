//! `millrace links …`: creates the links of messages, to try a page by hand.

use clap::{Args, Subcommand, ValueEnum};
use config::Settings;
use kernel::{Channel, Clock, ListId, UserId, WorkspaceId};
use recipient_pages::hosted_page::ops::recipient;
use web::{
    auth::keys,
    links::{ConfirmSubscription, Link, Links, Preferences, Unsubscribe},
};

use super::{output, stores};

#[derive(Debug, Subcommand)]
pub(super) enum LinkCommand {
    /// Prints a recipient's link, as a message would carry it
    Create(Create),
}

#[derive(Debug, Args)]
pub(super) struct Create {
    /// The name of the workspace
    #[arg(long, value_name = "NAME")]
    workspace: String,
    /// The contact's internal id
    #[arg(long, value_name = "ID")]
    user: UserId,
    /// What its holder may do
    #[arg(long, value_enum, default_value_t = Purpose::Preferences)]
    purpose: Purpose,
    /// The list to unsubscribe from, or to confirm
    #[arg(long, value_name = "ID", required_if_eq("purpose", "confirm"))]
    list: Option<ListId>,
    /// The channel to unsubscribe from, or to confirm
    #[arg(long, value_name = "CHANNEL", default_value = "email")]
    channel: Channel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Purpose {
    /// Opens the preference page
    Preferences,
    /// Unsubscribes, from a list or a whole channel
    Unsubscribe,
    /// Confirms a subscription that waits for it
    Confirm,
}

pub(super) async fn run(command: LinkCommand, settings: &Settings) -> anyhow::Result<()> {
    let LinkCommand::Create(create) = command;
    let url = stores::with_postgres(settings, async |pool| {
        let workspace = keys::find_workspace(pool, &create.workspace).await?;
        if !recipient::has_contact(pool, workspace, create.user).await? {
            anyhow::bail!("the workspace has no contact {}", create.user);
        }
        let links = Links::new(pool.clone(), settings.public_url());
        Ok(links.url(Clock::system().now(), &create.link(workspace)?).await?)
    })
    .await?;
    output::line(url.as_str())
}

impl Create {
    fn link(&self, workspace: WorkspaceId) -> anyhow::Result<Link> {
        let Self { user, list, channel, .. } = *self;
        Ok(match self.purpose {
            Purpose::Preferences => Link::Preferences(Preferences { workspace, user }),
            Purpose::Unsubscribe => {
                let channel = Some(channel);
                Link::Unsubscribe(Unsubscribe { workspace, user, list, channel, message: None })
            }
            Purpose::Confirm => {
                let list = list.ok_or_else(|| anyhow::anyhow!("--list is needed to confirm"))?;
                Link::ConfirmSubscription(ConfirmSubscription { workspace, user, list, channel })
            }
        })
    }
}
