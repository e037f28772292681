//! `millrace workspaces …`: lists workspaces, and changes their settings.

use clap::{ArgGroup, Args, Subcommand};
use config::Settings;
use kernel::Country;
use web::workspaces::{self, Days, WorkspaceChanges, WorkspaceRow};

use super::{output, stores};

#[derive(Debug, Subcommand)]
pub(super) enum Workspaces {
    /// Lists all workspaces with their settings
    List,
    /// Changes settings of a workspace
    Set(Set),
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("setting").required(true).multiple(true)))]
pub(super) struct Set {
    /// The name of the workspace
    #[arg(long, value_name = "NAME")]
    workspace: String,
    /// The currency (ISO 4217) in which revenue is summed
    #[arg(long, value_name = "CODE", group = "setting")]
    currency: Option<String>,
    /// The IANA zone of schedules that name none
    #[arg(long, value_name = "ZONE", group = "setting")]
    timezone: Option<String>,
    /// The country (ISO 3166-1) by which national phone numbers are read
    #[arg(long, value_name = "CODE", group = "setting")]
    country: Option<Country>,
    /// Days that events are kept; 0: for ever, default: as [retention] says
    #[arg(long, value_name = "DAYS", group = "setting")]
    events_days: Option<Days>,
    /// Days that sends, opens and clicks are kept for reports
    #[arg(long, value_name = "DAYS", group = "setting")]
    message_events_days: Option<Days>,
    /// Days that deleted profiles can be looked up
    #[arg(long, value_name = "DAYS", group = "setting")]
    deleted_profiles_days: Option<Days>,
}

pub(super) async fn run(command: Workspaces, settings: &Settings) -> anyhow::Result<()> {
    match command {
        Workspaces::List => {
            let rows =
                stores::with_postgres(settings, async |pool| Ok(workspaces::list(pool).await?))
                    .await?;
            let head = [
                "NAME",
                "ORGANIZATION",
                "CURRENCY",
                "TIMEZONE",
                "COUNTRY",
                "EVENTS DAYS",
                "MESSAGE EVENTS DAYS",
                "DELETED PROFILES DAYS",
            ];
            output::table(head, rows.into_iter().map(cells))
        }
        Workspaces::Set(set) => {
            let changes = WorkspaceChanges {
                currency: set.currency,
                timezone: set.timezone,
                country: set.country,
                events: set.events_days,
                message_events: set.message_events_days,
                deleted_profiles: set.deleted_profiles_days,
            };
            stores::with_postgres(settings, async |pool| {
                Ok(workspaces::set(pool, &set.workspace, &changes).await?)
            })
            .await
        }
    }
}

fn cells(row: WorkspaceRow) -> [String; 8] {
    let days = |days: Option<i32>| days.map_or("default".to_owned(), |days| days.to_string());
    [
        row.name,
        row.organization,
        row.currency.unwrap_or_default(),
        row.timezone,
        row.country.unwrap_or_default(),
        days(row.events_days),
        days(row.message_events_days),
        days(row.deleted_profiles_days),
    ]
}
