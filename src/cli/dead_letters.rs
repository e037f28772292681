//! `millrace dead-letters …`: rows ClickHouse refused, with the reason.

use clap::Subcommand;
use config::Settings;
use contacts::events::ops::dead_letters;
use engines::DataDir;
use ingest::pipeline::dead_letters::{DeadLetter, Retry, list};
use kernel::Timestamp;

use super::{output, stores};

#[derive(Debug, Clone, Copy, Subcommand)]
pub(super) enum DeadLetters {
    /// Lists them, oldest first
    List,
    /// Offers them to ClickHouse again; what it takes is taken off the list
    Retry,
}

pub(super) async fn run(command: DeadLetters, settings: &Settings) -> anyhow::Result<()> {
    let folder = DataDir::open(&settings.data_dir)?.dead_letters();
    match command {
        DeadLetters::List => {
            let letters = list(&folder)?;
            let head =
                ["ID", "REFUSED AT", "WORKSPACE", "EVENT ID", "EVENT NAME", "CODE", "REASON"];
            output::table(head, letters.into_iter().map(cells))
        }
        DeadLetters::Retry => {
            let report = stores::with_clickhouse(settings, async |analytics| {
                let retry = Retry::begin(&folder, None)?;
                Ok(dead_letters::run(retry, analytics, settings.clickhouse_url.is_none()).await?)
            })
            .await?;
            output::line(&format!(
                "{} inserted, {} refused again, {} that cannot be read",
                report.inserted, report.refused, report.unreadable
            ))
        }
    }
}

fn cells(letter: DeadLetter) -> [String; 7] {
    let at = i64::try_from(letter.at_ms).map(Timestamp::from_millis);
    [
        letter.id,
        at.map_or("-".to_owned(), |at| at.to_string()),
        letter.workspace_id.map_or("-".to_owned(), |id| id.to_string()),
        letter.event_id.unwrap_or_default(),
        letter.event_name.unwrap_or_default(),
        letter.code.to_string(),
        letter.reason.split_whitespace().collect::<Vec<_>>().join(" "),
    ]
}
