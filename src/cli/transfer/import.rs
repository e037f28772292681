//! `millrace import events`: the rows of a file to `POST /events/track`.

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use bytes::Bytes;
use clap::Args;
use config::Settings;
use futures_util::{StreamExt as _, stream};
use http::{Method, StatusCode};
use kernel::Clock;
use providers::client::{Fault, retry_after};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use tables::{FaultyRow, Field, Format, TableReader};
use tokio::time::Instant;
use web::auth::ScopeSet;

use super::super::output;
use super::{
    FileFormat,
    event_rows::{event_of, is_column},
    format_of,
    journal::{Journal, RefusedRow},
    progress_bar,
    server::{self, Access, ServerAccess, refusal, whole},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct EventImport {
    /// The file: columns as `export events` writes them
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    access: Access,
    /// The format of the file [default: that of its name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FileFormat>,
}

/// What the key of this command is called in lists.
const KEY_LABEL: &str = "millrace import events";
/// Events of a request.
const BATCH_EVENTS: usize = 500;
/// A batch ends with the event that reaches so many bytes.
const BATCH_BYTES: usize = 8 << 20;
/// Requests under way at one time.
const REQUESTS_MAX: usize = 4;
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
    events: Vec<Event>,
    bytes: usize,
    /// Rows that cannot be sent.
    refused: Vec<RefusedRow>,
}

#[derive(Debug)]
struct Event {
    row: u64,
    json: String,
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

/// The answer to an array of events.
#[derive(Debug, Deserialize)]
struct TrackAnswer {
    accepted: u64,
    rejected: Vec<Rejected>,
}

#[derive(Debug, Deserialize)]
struct Rejected {
    index: usize,
    reason: String,
}

pub(super) async fn run(import: EventImport, settings: &Settings) -> anyhow::Result<()> {
    let format = format_of(&import.file, import.format)?;
    let reader = open(&import, format)?;
    let scopes: ScopeSet = "events:write".parse().map_err(anyhow::Error::msg)?;
    let server = import.access.open(settings, scopes, KEY_LABEL).await?;
    let done = tokio::select! {
        done = import_rows(&import, &server, reader, settings) => done,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted.map_err(Into::into).and_then(|()| {
                Err(anyhow::anyhow!("interrupted; the same command goes on from here"))
            })
        }
    };
    let closed = server.close(settings).await;
    let journal = done?;
    closed?;
    let progress = &journal.progress;
    let (rows, accepted, refused) = (progress.rows, progress.accepted, progress.refused);
    output::line(&format!("{rows} rows, {accepted} accepted, {refused} refused"))?;
    let list = journal.refused_path.display();
    anyhow::ensure!(refused == 0, "{refused} of {rows} rows were refused: {list} says why");
    Ok(())
}

fn open(import: &EventImport, format: Format) -> anyhow::Result<TableReader> {
    let unreadable = || format!("cannot read {}", import.file.display());
    let reader = TableReader::open(&import.file, format).with_context(unreadable)?;
    for column in reader.columns().unwrap_or_default() {
        let file = import.file.display();
        anyhow::ensure!(is_column(column), "{file} has the column {column}, which events have not");
    }
    Ok(reader)
}

async fn import_rows(
    import: &EventImport,
    server: &ServerAccess,
    mut reader: TableReader,
    settings: &Settings,
) -> anyhow::Result<Journal> {
    let mut journal = Journal::open(&import.file, &server.target)?;
    if let Some(key) = journal.replace_key(server.own_key)? {
        server::revoke(settings, key).await?;
    }
    let bar = progress_bar("importing {human_pos} rows {per_sec} {elapsed}");
    for _ in 0..journal.progress.rows {
        reader.next_row()?;
    }
    bar.set_position(journal.progress.rows);
    let batches = std::iter::from_fn(|| next_batch(&mut reader).transpose());
    let sent = stream::iter(batches).map(|batch| async move { send(server, batch?).await });
    let mut sent = std::pin::pin!(sent.buffered(REQUESTS_MAX));
    while let Some(batch) = sent.next().await {
        let Sent { last_row, accepted, refused } = batch?;
        journal.advance(last_row, accepted, &refused)?;
        bar.set_position(last_row);
    }
    bar.finish_and_clear();
    journal.finish()?;
    Ok(journal)
}

/// The next rows of the file; none at its end.
fn next_batch(reader: &mut TableReader) -> anyhow::Result<Option<Batch>> {
    let mut batch = Batch::default();
    while batch.events.len() < BATCH_EVENTS
        && batch.refused.len() < BATCH_EVENTS
        && batch.bytes < BATCH_BYTES
    {
        let Some(row) = reader.next_row()? else { break };
        batch.last_row = row.number;
        let (value, event) = match row.fields {
            Ok(fields) => (object(&fields)?, event_of(&fields)),
            Err(FaultyRow { reason, text }) => (to_raw_value(&text)?, Err(reason)),
        };
        match event {
            Ok(json) => {
                batch.bytes += json.len();
                batch.events.push(Event { row: row.number, json, value });
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

/// Sends a batch until it is answered. Sent again it counts once, by the ids of its events.
async fn send(server: &ServerAccess, batch: Batch) -> anyhow::Result<Sent> {
    let Batch { last_row, events, mut refused, .. } = batch;
    if events.is_empty() {
        return Ok(Sent { last_row, accepted: 0, refused });
    }
    let texts: Vec<&str> = events.iter().map(|event| event.json.as_str()).collect();
    let body = Bytes::from(format!("[{}]", texts.join(",")));
    let answer = track(server, &body).await?;
    let mut reasons: Vec<Option<String>> = vec![None; events.len()];
    for Rejected { index, reason } in answer.rejected {
        *reasons.get_mut(index).context("the server rejects an event that was not sent")? =
            Some(reason);
    }
    let rejected = events.into_iter().zip(reasons).filter_map(|(event, reason)| {
        Some(RefusedRow { row: event.row, reason: reason?, value: event.value })
    });
    refused.extend(rejected);
    refused.sort_by_key(|refused| refused.row);
    Ok(Sent { last_row, accepted: answer.accepted, refused })
}

async fn track(server: &ServerAccess, body: &Bytes) -> anyhow::Result<TrackAnswer> {
    let began = Instant::now();
    let mut pause = PAUSE;
    loop {
        let (fault, after) = match attempt(server, body).await? {
            Attempt::Answered(answer) => return Ok(answer),
            Attempt::Later { reason, after } => (reason, after),
        };
        anyhow::ensure!(
            began.elapsed() < RETRY_MAX,
            "the server takes no events: {fault}; the same command goes on from here"
        );
        tokio::time::sleep(after.unwrap_or(pause).min(PAUSE_MAX)).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

enum Attempt {
    Answered(TrackAnswer),
    /// The server is away, or asks to come back.
    Later {
        reason: String,
        after: Option<Duration>,
    },
}

async fn attempt(server: &ServerAccess, body: &Bytes) -> anyhow::Result<Attempt> {
    let later = |fault: Fault| Attempt::Later { reason: fault.reason, after: None };
    let mut answer = match server.open(Method::POST, "/events/track", body.clone()).await? {
        Ok(answer) => answer,
        Err(fault) => return Ok(later(fault)),
    };
    let text = match whole(&mut answer).await {
        Ok(text) => text,
        Err(fault) => return Ok(later(fault)),
    };
    let status = answer.status;
    if status == StatusCode::OK {
        let answer = serde_json::from_slice(&text).context("the server answers in another form")?;
        return Ok(Attempt::Answered(answer));
    }
    let refused = refusal(status, &text);
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        let after = retry_after(&answer.headers, Clock::system().now());
        return Ok(Attempt::Later { reason: refused.to_string(), after });
    }
    Err(refused)
}
