//! `millrace import events` and `people`: the rows of a file to `POST /events/track` and `POST /users`.

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use bytes::Bytes;
use clap::Args;
use config::Settings;
use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use kernel::Clock;
use providers::client::{Fault, retry_after};
use serde_json::value::{RawValue, to_raw_value};
use tables::{FaultyRow, Field, Format, TableReader};
use tokio::time::Instant;
use web::auth::ScopeSet;

use super::super::output;
use super::{
    FileFormat, format_of,
    journal::{Journal, RefusedRow},
    json_row::JsonRow,
    progress_bar,
    rows::{Rejected, Rows, Taken},
    server::{self, Access, ServerAccess, refusal, whole},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct FileImport {
    /// The file: for events with columns as `export events` writes them, for people as `export people` does, or with
    /// `external_id`, `email`, `phone`, `user_id`, `attributes`, and `attributes.NAME` for single ones
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    access: Access,
    /// The format of the file [default: that of its name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FileFormat>,
}

/// A batch ends with the row that reaches so many bytes.
const BATCH_BYTES: usize = 8 << 20;
/// How long a request is tried again while the server is away or has no room.
const RETRY_MAX: Duration = Duration::from_mins(5);
/// The first pause before another try; each next one is twice as long, up to the longest.
const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Rows that are sent together.
#[derive(Debug, Default)]
struct Batch {
    /// The number of its last row.
    last_row: u64,
    elements: Vec<Element>,
    bytes: usize,
    /// Rows that cannot be sent.
    refused: Vec<RefusedRow>,
}

/// A row that is sent.
#[derive(Debug)]
struct Element {
    row: u64,
    sent: JsonRow,
    /// The row as it was read.
    value: Box<RawValue>,
}

/// What became of a batch.
#[derive(Debug)]
struct Sent {
    last_row: u64,
    accepted: u64,
    refused: Vec<RefusedRow>,
}

/// An import under way.
#[derive(Debug)]
struct Importer {
    rows: Rows,
    server: ServerAccess,
}

pub(super) async fn run(rows: Rows, import: FileImport, settings: &Settings) -> anyhow::Result<()> {
    let format = format_of(&import.file, import.format)?;
    let reader = open(rows, &import, format)?;
    let scopes: ScopeSet = rows.scope().parse().map_err(anyhow::Error::msg)?;
    let server = import.access.open(settings, scopes, &rows.key_label()).await?;
    let importer = Importer { rows, server };
    let done = tokio::select! {
        done = importer.import(&import, reader, settings) => done,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted.map_err(Into::into).and_then(|()| {
                Err(anyhow::anyhow!("interrupted; the same command goes on from here"))
            })
        }
    };
    let closed = importer.server.close(settings).await;
    let journal = done?;
    closed?;
    let progress = &journal.progress;
    let (rows, accepted, refused) = (progress.rows, progress.accepted, progress.refused);
    output::line(&format!("{rows} rows, {accepted} accepted, {refused} refused"))?;
    let list = journal.refused_path.display();
    anyhow::ensure!(refused == 0, "{refused} of {rows} rows were refused: {list} says why");
    Ok(())
}

fn open(rows: Rows, import: &FileImport, format: Format) -> anyhow::Result<TableReader> {
    let unreadable = || format!("cannot read {}", import.file.display());
    let reader = TableReader::open(&import.file, format).with_context(unreadable)?;
    for column in reader.columns().unwrap_or_default() {
        let (file, noun) = (import.file.display(), rows.noun());
        let is_known = rows.has_column(column);
        anyhow::ensure!(is_known, "{file} has the column {column}, which {noun} have not");
    }
    Ok(reader)
}

impl Importer {
    async fn import(
        &self,
        import: &FileImport,
        mut reader: TableReader,
        settings: &Settings,
    ) -> anyhow::Result<Journal> {
        let target = format!("{} ({})", self.server.target, self.rows.noun());
        let mut journal = Journal::open(&import.file, &target)?;
        if let Some(key) = journal.replace_key(self.server.own_key)? {
            server::revoke(settings, key).await?;
        }
        let bar = progress_bar("importing {human_pos} rows {per_sec} {elapsed}");
        for _ in 0..journal.progress.rows {
            reader.next_row()?;
        }
        bar.set_position(journal.progress.rows);
        let batches = std::iter::from_fn(|| next_batch(self.rows, &mut reader).transpose());
        // One after the other: of two rows of a profile the later one counts, of two of an order the earlier one.
        let sent = stream::iter(batches).then(|batch| async move { self.send(batch?).await });
        let mut sent = std::pin::pin!(sent);
        while let Some(batch) = sent.next().await {
            let Sent { last_row, accepted, refused } = batch?;
            journal.advance(last_row, accepted, &refused)?;
            bar.set_position(last_row);
        }
        bar.finish_and_clear();
        journal.finish()?;
        Ok(journal)
    }

    /// Sends a batch until it is answered. Sent again it changes nothing: events count once by their ids, and profiles are
    /// as they were sent.
    async fn send(&self, batch: Batch) -> anyhow::Result<Sent> {
        let Batch { last_row, elements, mut refused, .. } = batch;
        let mut accepted = 0;
        for part in parts(elements) {
            let texts: Vec<&str> = part.iter().map(|element| element.sent.json.as_str()).collect();
            let body = Body {
                json: Bytes::from(format!("[{}]", texts.join(","))),
                is_stamped: part.iter().any(|element| element.sent.is_stamped),
            };
            let taken = self.offer(&body).await?;
            accepted += taken.accepted;
            let mut reasons: Vec<Option<String>> = vec![None; part.len()];
            for Rejected { index, reason } in taken.refused {
                *reasons.get_mut(index).context("the server rejects a row that was not sent")? =
                    Some(reason);
            }
            refused.extend(part.into_iter().zip(reasons).filter_map(|(element, reason)| {
                Some(RefusedRow { row: element.row, reason: reason?, value: element.value })
            }));
        }
        refused.sort_by_key(|refused| refused.row);
        Ok(Sent { last_row, accepted, refused })
    }

    /// Sends an array until it is answered.
    async fn offer(&self, body: &Body) -> anyhow::Result<Taken> {
        let began = Instant::now();
        let mut pause = PAUSE;
        loop {
            let (fault, after) = match self.attempt(body).await? {
                Attempt::Answered(taken) => return Ok(taken),
                Attempt::Later { reason, after } => (reason, after),
            };
            anyhow::ensure!(
                began.elapsed() < RETRY_MAX,
                "the server takes no {}: {fault}; the same command goes on from here",
                self.rows.noun()
            );
            tokio::time::sleep(after.unwrap_or(pause).min(PAUSE_MAX)).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn attempt(&self, body: &Body) -> anyhow::Result<Attempt> {
        let later = |fault: Fault| Attempt::Later { reason: fault.reason, after: None };
        let Body { json, is_stamped } = body;
        let answer = self.server.post(self.rows.path(), json.clone(), *is_stamped).await?;
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(fault) => return Ok(later(fault)),
        };
        let text = match whole(&mut answer).await {
            Ok(text) => text,
            Err(fault) => return Ok(later(fault)),
        };
        let status = answer.status;
        if status == StatusCode::OK {
            let taken = self.rows.taken(&text).context("the server answers in another form")?;
            return Ok(Attempt::Answered(taken));
        }
        let refused = refusal(status, &text);
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            let after = retry_after(&answer.headers, Clock::system().now());
            return Ok(Attempt::Later { reason: refused.to_string(), after });
        }
        Err(refused)
    }
}

/// Rows that are sent in one request.
struct Body {
    json: Bytes,
    is_stamped: bool,
}

/// The rows of a batch for a request each: events that a server stamped apart from others, and orders in their order, since
/// the earlier one of two counts.
fn parts(elements: Vec<Element>) -> Vec<Vec<Element>> {
    let mut parts = Vec::new();
    // Others, and events that a server stamped.
    let mut open: [Vec<Element>; 2] = Default::default();
    for element in elements {
        let place = usize::from(element.sent.is_stamped);
        let other = &open[1 - place];
        if element.sent.is_order && other.iter().any(|it| it.sent.is_order) {
            parts.extend(std::mem::take(&mut open));
        }
        open[place].push(element);
    }
    parts.extend(open);
    parts.retain(|part| !part.is_empty());
    parts
}

/// What became of an attempt.
enum Attempt {
    Answered(Taken),
    /// The server is unavailable, or its answer is to be retried.
    Later {
        reason: String,
        after: Option<Duration>,
    },
}

/// The next rows of the file; none at its end.
fn next_batch(rows: Rows, reader: &mut TableReader) -> anyhow::Result<Option<Batch>> {
    let mut batch = Batch::default();
    while batch.elements.len() < rows.batch_max()
        && batch.refused.len() < rows.batch_max()
        && batch.bytes < BATCH_BYTES
    {
        let Some(row) = reader.next_row()? else { break };
        batch.last_row = row.number;
        let (value, element) = match row.fields {
            Ok(fields) => (object(&fields)?, rows.element(&fields)),
            Err(FaultyRow { reason, text }) => (to_raw_value(&text)?, Err(reason)),
        };
        match element {
            Ok(sent) => {
                batch.bytes += sent.json.len();
                batch.elements.push(Element { row: row.number, sent, value });
            }
            Err(reason) => batch.refused.push(RefusedRow { row: row.number, reason, value }),
        }
    }
    Ok((batch.last_row > 0).then_some(batch))
}

/// A row as an object in JSON.
fn object(fields: &[Field]) -> anyhow::Result<Box<RawValue>> {
    let members = fields
        .iter()
        .map(|field| Ok(format!("{}:{}", to_raw_value(&*field.name)?, field.value.get())));
    let members = members.collect::<Result<Vec<String>, serde_json::Error>>()?;
    Ok(RawValue::from_string(format!("{{{}}}", members.join(",")))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamped_events_are_sent_apart_and_orders_in_their_order() {
        // A letter a row: an order in upper case, stamped by a server where it is a or A.
        let table = [
            ("", vec![]),
            ("bbb", vec!["bbb"]),
            ("abab", vec!["bb", "aa"]),
            ("aBbA", vec!["Bb", "a", "A"]),
            ("ABAB", vec!["A", "B", "A", "B"]),
            ("AaBA", vec!["Aa", "B", "A"]),
        ];
        for (rows, expected) in table {
            let elements = rows.chars().map(|row| Element {
                row: 0,
                sent: JsonRow {
                    json: row.to_string(),
                    is_stamped: row.eq_ignore_ascii_case(&'a'),
                    is_order: row.is_ascii_uppercase(),
                },
                value: to_raw_value(&0).unwrap(),
            });
            let parts: Vec<String> = parts(elements.collect())
                .into_iter()
                .map(|part| part.into_iter().map(|it| it.sent.json).collect())
                .collect();
            assert_eq!(parts, expected, "{rows}");
        }
    }
}
