//! `millrace export events`: `GET /events/export` into a file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bytes::Bytes;
use clap::Args;
use config::Settings;
use http::{Method, StatusCode};
use tables::Format;
use tokio::{fs::File, io::AsyncWriteExt as _};
use url::form_urlencoded;
use web::auth::ScopeSet;

use super::{
    FileFormat, format_of, progress_bar,
    server::{Access, SILENCE_MAX, ServerAccess, refusal, whole},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct EventExport {
    /// The file to write; one that is there is replaced once the export is whole
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    access: Access,
    /// The first instant (ISO 8601); a date alone means its beginning in UTC
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// The last instant, inclusive; a date alone means its end in UTC
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Only events of this name
    #[arg(long, value_name = "NAME")]
    event_name: Option<String>,
    /// The format of the file [default: that of its name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FileFormat>,
}

/// What the key of this command is called in lists.
const KEY_LABEL: &str = "millrace export events";

pub(super) async fn run(export: EventExport, settings: &Settings) -> anyhow::Result<()> {
    let format = format_of(&export.file, export.format)?;
    let scopes: ScopeSet = "events:read".parse().map_err(anyhow::Error::msg)?;
    let server = export.access.open(settings, scopes, KEY_LABEL).await?;
    let done = tokio::select! {
        done = write(&export, &server, format) => done,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted.map_err(Into::into).and_then(|()| Err(anyhow::anyhow!("interrupted")))
        }
    };
    let closed = server.close(settings).await;
    if done.is_err() {
        // It is not whole; that it cannot be removed changes nothing about the failure.
        let _ = std::fs::remove_file(unfinished(&export.file));
    }
    done.and(closed)
}

/// The file's name until it is whole.
fn unfinished(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

async fn write(export: &EventExport, server: &ServerAccess, format: Format) -> anyhow::Result<()> {
    let parameters = [
        ("format", Some(format.name())),
        ("from", export.from.as_deref()),
        ("to", export.to.as_deref()),
        ("eventName", export.event_name.as_deref()),
    ];
    let given = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish();
    let path = format!("/events/export?{query}");
    let mut answer = server
        .open(Method::GET, &path, Bytes::new())
        .await?
        .map_err(|fault| anyhow::anyhow!("the server does not answer: {}", fault.reason))?;
    if answer.status != StatusCode::OK {
        let body = whole(&mut answer).await.unwrap_or_default();
        return Err(refusal(answer.status, &body));
    }
    let part = unfinished(&export.file);
    let unwritable = || format!("cannot write {}", part.display());
    let mut file = File::create(&part).await.with_context(unwritable)?;
    let bar = progress_bar("exporting {bytes} {bytes_per_sec} {elapsed}");
    loop {
        let piece = answer.next(SILENCE_MAX).await.map_err(|fault| {
            let reason = &fault.reason;
            anyhow::anyhow!(
                "the export broke off, and nothing of it was kept: {reason}; run it again"
            )
        })?;
        let Some(piece) = piece else { break };
        file.write_all(&piece).await.with_context(unwritable)?;
        bar.inc(piece.len() as u64);
    }
    file.sync_all().await.with_context(unwritable)?;
    bar.finish_and_clear();
    std::fs::rename(&part, &export.file)
        .with_context(|| format!("cannot write {}", export.file.display()))
}
