//! `millrace export …` and `millrace import …`: tables out of a running server and into one.

mod event_rows;
mod export;
mod import;
mod journal;
mod json_row;
mod people_rows;
mod rows;
mod server;

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use clap::{Subcommand, ValueEnum};
use config::Settings;
use indicatif::{ProgressBar, ProgressStyle};
use tables::Format;

use self::{
    export::{EventExport, FileExport},
    import::FileImport,
    rows::Rows,
};

/// How often a progress bar is drawn.
const TICK: Duration = Duration::from_millis(200);

#[derive(Debug, Subcommand)]
pub(super) enum Export {
    /// Writes events into a file, each once, in order of time
    Events(EventExport),
    /// Writes active profiles into a file, each once
    People(FileExport),
}

#[derive(Debug, Subcommand)]
pub(super) enum Import {
    /// Tracks the events of a file, each once however often it is run
    Events(FileImport),
    /// Creates and updates the profiles of a file
    People(FileImport),
}

pub(super) async fn export(command: Export, settings: &Settings) -> anyhow::Result<()> {
    match command {
        Export::Events(events) => export::events(events, settings).await,
        Export::People(file) => export::people(file, settings).await,
    }
}

pub(super) async fn import(command: Import, settings: &Settings) -> anyhow::Result<()> {
    match command {
        Import::Events(file) => import::run(Rows::Events, file, settings).await,
        Import::People(file) => import::run(Rows::People, file, settings).await,
    }
}

/// A format of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FileFormat {
    Csv,
    Ndjson,
    Parquet,
}

impl From<FileFormat> for Format {
    fn from(format: FileFormat) -> Self {
        match format {
            FileFormat::Csv => Self::Csv,
            FileFormat::Ndjson => Self::Ndjson,
            FileFormat::Parquet => Self::Parquet,
        }
    }
}

/// The format that was named, else that of the file's name.
fn format_of(file: &Path, named: Option<FileFormat>) -> anyhow::Result<Format> {
    let of_name = || Format::of_path(file).filter(|it| !matches!(it, Format::Json | Format::Arrow));
    let format = named.map(Format::from).or_else(of_name);
    format.with_context(|| {
        format!(
            "{} does not say its format: end it in .csv, .ndjson or .parquet, or name one with --format",
            file.display()
        )
    })
}

/// A bar on a terminal; nothing in a log.
fn progress_bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
    bar.enable_steady_tick(TICK);
    bar
}
