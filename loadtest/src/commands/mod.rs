//! What the program can be asked to do.

mod arguments;
mod bulk;
mod caller;
mod campaign;
mod campaigns;
mod compare;
mod identities;
mod insights;
mod load;
mod load_report;
mod profiles;
mod queries;
mod verify;

use anyhow::Result;
use clap::{Parser, Subcommand};

pub use arguments::{LoadArguments, TargetArguments};
pub use bulk::BulkArguments;
pub use campaign::CampaignArguments;
pub use campaigns::CampaignsArguments;
pub use compare::CompareArguments;
pub use identities::IdentitiesArguments;
pub use insights::InsightsArguments;
pub use load::{GenerateArguments, ReplayArguments};
pub use profiles::ProfilesArguments;
pub use queries::QueriesArguments;
pub use verify::VerifyArguments;

/// Load, oracle and report for Millrace.
#[derive(Debug, Parser)]
#[command(name = "loadtest", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Sends generated events to the API
    Generate(GenerateArguments),
    /// Sends the events of a file, one JSON object a line, gzip or plain
    Replay(ReplayArguments),
    /// Sends the same events through Millrace and straight into its ClickHouse, in turn
    Compare(CompareArguments),
    /// Measures the usual questions through the API
    Queries(QueriesArguments),
    /// Asks insights, each beside hand-written SQL on the same tables
    Insights(InsightsArguments),
    /// Creates and updates profiles in arrays, then measures the list and searches of them
    Profiles(ProfilesArguments),
    /// Sends identify calls in batches until their profiles are there, then measures how soon links are visible
    Identities(IdentitiesArguments),
    /// Puts 10,000 members on a list and off again, and imports 5,000 suppressions
    Bulk(BulkArguments),
    /// Makes 10,000 campaigns, then measures the list by each filter, and creates and updates at a rate
    Campaigns(CampaignsArguments),
    /// Sends a campaign to every profile of the workspace, into a sink of its own
    Campaign(CampaignArguments),
    /// Checks that what a journal says was acknowledged is stored exactly once
    Verify(VerifyArguments),
}

/// Whether what was asked turned out well; the exit status follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing to complain of.
    Good,
    /// Something was lost, doubled, refused or given up; the report says what.
    Bad,
}

impl Ending {
    fn good_if(good: bool) -> Self {
        if good { Self::Good } else { Self::Bad }
    }
}

/// Runs the command.
///
/// # Errors
/// What kept it from being carried out at all.
pub async fn run(cli: Cli) -> Result<Ending> {
    match cli.command {
        Command::Generate(arguments) => load::generate(arguments).await,
        Command::Replay(arguments) => load::replay(arguments).await,
        Command::Compare(arguments) => compare::compare(arguments).await,
        Command::Queries(arguments) => queries::queries(arguments).await,
        Command::Insights(arguments) => insights::insights(arguments).await,
        Command::Profiles(arguments) => profiles::profiles(arguments).await,
        Command::Identities(arguments) => identities::identities(arguments).await,
        Command::Bulk(arguments) => bulk::bulk(arguments).await,
        Command::Campaigns(arguments) => campaigns::campaigns(arguments).await,
        Command::Campaign(arguments) => campaign::campaign(arguments).await,
        Command::Verify(arguments) => verify::verify(arguments).await,
    }
}
