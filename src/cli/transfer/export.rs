//! `millrace export events` and `people`: `GET /events/export` and `GET /users/export` into a file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use config::Settings;
use http::StatusCode;
use tokio::{fs::File, io::AsyncWriteExt as _};
use url::form_urlencoded;
use web::auth::ScopeSet;

use super::{
    FileFormat, format_of, progress_bar,
    rows::Rows,
    server::{Access, SILENCE_MAX, ServerAccess, refusal, whole},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct FileExport {
    /// The file to write; one that is there is replaced once the export is whole
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    access: Access,
    /// The format of the file [default: that of its name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FileFormat>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct EventExport {
    #[command(flatten)]
    into: FileExport,
    /// The first instant (ISO 8601); a date alone means its beginning in UTC
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// The last instant, inclusive; a date alone means its end in UTC
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Only events of this name
    #[arg(long, value_name = "NAME")]
    event_name: Option<String>,
}

pub(super) async fn events(export: EventExport, settings: &Settings) -> anyhow::Result<()> {
    let EventExport { into, from, to, event_name } = export;
    let parameters = [("from", from), ("to", to), ("eventName", event_name)];
    let given = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish();
    run(Rows::Events, &into, &query, settings).await
}

pub(super) async fn people(into: FileExport, settings: &Settings) -> anyhow::Result<()> {
    run(Rows::People, &into, "", settings).await
}

/// Exports rows into a file: all of them, or those that a query narrows them to.
async fn run(
    rows: Rows,
    into: &FileExport,
    query: &str,
    settings: &Settings,
) -> anyhow::Result<()> {
    let format = format_of(&into.file, into.format)?;
    let path = format!("{}?format={}&{query}", rows.export_path(), format.name());
    let scopes: ScopeSet = rows.export_scope().parse().map_err(anyhow::Error::msg)?;
    let label = format!("millrace export {}", rows.noun());
    let server = into.access.open(settings, scopes, &label).await?;
    let done = tokio::select! {
        done = write(&server, path.trim_end_matches('&'), &into.file) => done,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted.map_err(Into::into).and_then(|()| Err(anyhow::anyhow!("interrupted")))
        }
    };
    let closed = server.close(settings).await;
    if done.is_err() {
        // It is not whole; that it cannot be removed changes nothing about the failure.
        let _ = std::fs::remove_file(unfinished(&into.file));
    }
    done.and(closed)
}

/// The file's name until it is whole.
fn unfinished(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Writes the answer to a path of the server, once it is whole, under the file's name.
async fn write(server: &ServerAccess, path: &str, target: &Path) -> anyhow::Result<()> {
    let mut answer = server
        .get(path)
        .await?
        .map_err(|fault| anyhow::anyhow!("the server does not answer: {}", fault.reason))?;
    if answer.status != StatusCode::OK {
        let body = whole(&mut answer).await.unwrap_or_default();
        return Err(refusal(answer.status, &body));
    }
    let part = unfinished(target);
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
    std::fs::rename(&part, target).with_context(|| format!("cannot write {}", target.display()))
}
