//! Dead letters: rows that ClickHouse refused, kept on the disk of the process that stored them.

use std::cmp::Reverse;

use analytics::Analytics;
use ingest::pipeline::dead_letters::{self, DeadLetter, Retry, RetryError, RetryReport};
use kernel::{Error, Result, WorkspaceId, page::PageWindow};
use serde_json::json;
use tokio::task::spawn_blocking;
use web::{
    Services,
    audit_log::{self, Author, Change, Entry},
};

/// A page of the dead letters of a workspace in this process, newest first, and the number of all.
///
/// # Errors
/// If they cannot be read.
pub async fn list(
    app: &Services,
    workspace: WorkspaceId,
    window: PageWindow,
) -> Result<(Vec<DeadLetter>, usize)> {
    let dir = app.dead_letters_dir().to_owned();
    let letters =
        spawn_blocking(move || dead_letters::list(&dir)).await.map_err(Error::internal)?;
    let mut letters = letters.map_err(Error::internal)?;
    letters.retain(|letter| letter.workspace_id == Some(workspace.uuid()));
    let total = letters.len();
    letters.sort_by_key(|letter| Reverse(letter.at_ms));
    let skipped = usize::try_from(window.offset()).unwrap_or(usize::MAX);
    let shown = usize::try_from(window.limit()).unwrap_or(0);
    Ok((letters.into_iter().skip(skipped).take(shown).collect(), total))
}

/// Offers the dead letters of a workspace in this process to ClickHouse again, also after the
/// caller has gone.
///
/// # Errors
/// A conflict while another retry or a removal is under way; unavailable when ClickHouse is away: what was done by then
/// is done.
pub async fn retry(app: &Services, workspace: WorkspaceId, author: &Author) -> Result<RetryReport> {
    let dir = app.dead_letters_dir().to_owned();
    let begin = move || -> std::result::Result<_, RetryError> {
        let retry = Retry::begin(&dir, Some(workspace.uuid()))?;
        let count = retry.count()?;
        Ok((retry, count))
    };
    let begun = spawn_blocking(begin).await.map_err(Error::internal)?;
    let (retry, count) = begun.map_err(refusal)?;
    if count == 0 {
        return Ok(RetryReport::default());
    }
    log(app, workspace, author, count).await?;
    let app = app.clone();
    let run = async move { run(retry, app.analytics(), app.is_only_writer()).await };
    // A task of its own: the end of the server aborts it, that of the request does not.
    tokio::spawn(run).await.map_err(Error::internal)?
}

/// Runs a retry that has begun. The only writer first makes sure that questions expect rows that repeat others.
///
/// # Errors
/// As [`retry`].
pub async fn run(retry: Retry, analytics: &Analytics, is_only_writer: bool) -> Result<RetryReport> {
    let months = retry.months().map_err(Error::internal)?;
    if is_only_writer && !months.is_empty() {
        analytics.mark_repeats_possible(&months).await?;
    }
    retry.run(analytics.client()).await.map_err(refusal)
}

fn refusal(error: RetryError) -> Error {
    match error {
        RetryError::Busy(_) => {
            Error::Conflict("Dead letters are being retried or removed already".to_owned())
        }
        RetryError::ClickHouse(error) => analytics::AnalyticsError::from(error).into(),
        RetryError::Io(error) => Error::internal(error),
    }
}

async fn log(app: &Services, workspace: WorkspaceId, author: &Author, count: usize) -> Result<()> {
    let mut connection = app.db().acquire().await?;
    let entry = Entry {
        change: Change::DeadLettersRetried,
        object_id: "dead_letters",
        object_name: None,
        details: [("letters".to_owned(), json!(count))].into_iter().collect(),
    };
    audit_log::append(&mut connection, workspace, author, entry).await
}
