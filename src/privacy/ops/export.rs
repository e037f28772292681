//! Exports: one JSON document, stored in pieces.

use std::time::Duration;

use analytics::erasure;
use anyhow::Context as _;
use bytes::Bytes;
use kernel::{Error, Result, WorkspaceId, time::DAY};
use serde::Deserialize;
use serde_json::{Map, Value};
use sqlx::PgPool;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use crate::{
    PrivacyState,
    model::RequestId,
    store::{export as store, work, work::Work},
};

/// For how long a document is kept.
const KEPT_FOR: Duration = Duration::from_secs(7 * DAY.as_secs());
/// Bytes of a piece.
const PIECE_BYTES: usize = 1 << 20;
/// Longest text of a failure, in characters.
const FAILURE_CHARS_MAX: usize = 300;

/// A document that is being read.
#[derive(Debug)]
pub struct Download {
    db: PgPool,
    workspace: WorkspaceId,
    id: RequestId,
    next: i32,
}

impl Download {
    pub(super) fn new(db: PgPool, workspace: WorkspaceId, id: RequestId) -> Self {
        Self { db, workspace, id, next: 0 }
    }

    /// The next piece; none after the last.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn next_piece(&mut self) -> Result<Option<Bytes>> {
        let piece = store::piece(&self.db, self.workspace, self.id, self.next).await?;
        self.next += 1;
        Ok(piece.map(Bytes::from))
    }
}

/// Makes the oldest export that waits. Returns whether there was one.
pub(super) async fn make_next(app: &PrivacyState) -> Result<bool> {
    let Some(work) = work::next_export(app.db(), app.clock().now()).await? else {
        return Ok(false);
    };
    let (failure, expires) = match make(app, &work).await {
        Ok(()) => (None, Some(app.clock().now().after(KEPT_FOR))),
        Err(error) if error.is_unavailable() => return Err(error),
        Err(error) => {
            tracing::error!(%error, request = %work.id, "an export failed");
            let reason: String = error.to_string().chars().take(FAILURE_CHARS_MAX).collect();
            (Some(reason), None)
        }
    };
    work::finish_export(app.db(), &work, failure.as_deref(), app.clock().now(), expires).await?;
    Ok(true)
}

async fn make(app: &PrivacyState, work: &Work) -> Result<()> {
    let (db, workspace) = (app.db(), work.workspace);
    let user = work.user.ok_or(Error::NotFound("User"))?;
    store::begin(db, work).await?;
    let users = store::profiles(db, workspace, user).await?;
    if users.is_empty() {
        return Err(Error::NotFound("User"));
    }
    let mut document = store::document(db, workspace, &users).await?;
    document.pop();
    let mut pieces = Pieces { db, work, waiting: document.into_bytes(), next: 0 };
    let ids = store::event_ids(db, workspace, &users).await?;
    pieces.add(b", \"events\": [").await?;
    let events = erasure::events_of(app.analytics(), workspace.uuid(), &ids)?;
    pieces.add_rows(events, event).await?;
    pieces.add(b"], \"messageEvents\": [").await?;
    let internal: Vec<String> = users.iter().map(ToString::to_string).collect();
    let events = erasure::message_events_of(app.analytics(), workspace.uuid(), &internal)?;
    pieces.add_rows(events, |line| Ok(line.to_owned())).await?;
    pieces.add(b"]}").await?;
    pieces.end().await
}

/// An event's row, whose properties are the text of an object.
#[derive(Debug, Deserialize)]
struct EventRow {
    properties: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Writes an event's properties as an object, as they were sent.
fn event(line: &str) -> serde_json::Result<String> {
    let row: EventRow = serde_json::from_str(line)?;
    let mut text = serde_json::to_string(&row.rest)?;
    text.pop();
    let properties = if row.properties.is_empty() { "{}" } else { &row.properties };
    Ok(text + ", \"properties\": " + properties + "}")
}

/// A document that is being written.
struct Pieces<'a> {
    db: &'a PgPool,
    work: &'a Work,
    waiting: Vec<u8>,
    next: i32,
}

impl Pieces<'_> {
    async fn add(&mut self, bytes: &[u8]) -> Result<()> {
        self.waiting.extend_from_slice(bytes);
        while self.waiting.len() >= PIECE_BYTES {
            let rest = self.waiting.split_off(PIECE_BYTES);
            let piece = std::mem::replace(&mut self.waiting, rest);
            self.store(&piece).await?;
        }
        Ok(())
    }

    /// Adds rows, an object a line, with commas between them.
    async fn add_rows(
        &mut self,
        rows: impl AsyncBufRead + Unpin,
        write: fn(&str) -> serde_json::Result<String>,
    ) -> Result<()> {
        let mut lines = rows.lines();
        let mut separator: &[u8] = b"";
        while let Some(line) = lines.next_line().await.context("read rows of ClickHouse")? {
            self.add(separator).await?;
            self.add(write(&line).context("read a row")?.as_bytes()).await?;
            separator = b", ";
        }
        Ok(())
    }

    async fn store(&mut self, piece: &[u8]) -> Result<()> {
        store::store(self.db, self.work, self.next, piece).await?;
        self.next += 1;
        Ok(())
    }

    async fn end(mut self) -> Result<()> {
        let rest = std::mem::take(&mut self.waiting);
        self.store(&rest).await
    }
}

#[cfg(test)]
mod tests {
    use super::event;

    #[test]
    fn properties_stay_as_they_were_sent() {
        let line = r#"{"eventName":"Paid","properties":"{\"total\":49.900,\"n\":12345678901234567890123}"}"#;
        assert_eq!(
            event(line).unwrap(),
            r#"{"eventName":"Paid", "properties": {"total":49.900,"n":12345678901234567890123}}"#
        );
        let empty = event(r#"{"eventName":"Seen","properties":""}"#).unwrap();
        assert_eq!(empty, r#"{"eventName":"Seen", "properties": {}}"#);
    }
}
