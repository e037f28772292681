//! Makes a backup.

use std::{
    collections::BTreeMap,
    fs,
    io::{ErrorKind, Read as _},
    path::{Path, PathBuf},
};

use analytics::Analytics;
use anyhow::{Context as _, ensure};
use bytes::Bytes;
use config::{BackupSecrets, Settings};
use engines::{DataDir, EngineOptions, Engines};
use ingest::spool::HeldSpool;
use kernel::{Clock, Timestamp};
use secrecy::SecretString;
use sqlx::{ConnectOptions as _, Connection as _};
use web::db;

use crate::{
    PIECE_BYTES, clickhouse,
    files::{FileWriter, Output},
    folder::Unfinished,
    manifest::{Manifest, NamedFile, Schema},
    postgres,
    progress::Progress,
    seal::{self, Key},
};

/// Files of `secrets` that are made anew.
const OWN_SECRETS: [&str; 1] = ["clickhouse"];

/// What a backup is made of, and where it goes.
#[derive(Debug)]
pub struct BackupOptions<'a> {
    /// The settings of the server.
    pub settings: &'a Settings,
    /// The folder of the backup, which is made.
    pub target: PathBuf,
    /// Encrypts the backup, if there is one.
    pub passphrase: Option<SecretString>,
    /// Shows how far it is.
    pub progress: Progress,
}

/// What a backup holds.
#[derive(Debug, Clone, Copy)]
pub struct Created {
    /// Files besides the manifest.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Whether the master key is in it.
    pub has_secrets: bool,
}

/// Backs a deployment up, whether or not its server runs.
///
/// # Errors
/// In one line, and nothing is left at the target then.
pub async fn back_up(options: BackupOptions<'_>) -> anyhow::Result<Created> {
    let BackupOptions { settings, target, passphrase, progress } = options;
    passphrase.as_ref().map(seal::check_passphrase).transpose()?;
    let unfinished = Unfinished::make(&target)?;
    let engine_options = EngineOptions::from_settings(settings)?;
    let engines = Engines::attach_or_start(&engine_options, &settings.data_dir).await?;
    let output = Output {
        dir: unfinished.path(),
        key: passphrase.is_some().then(Key::generate).transpose()?,
        files: BTreeMap::new(),
        progress: &progress,
    };
    let key = output.key.clone();
    let made = write(settings, &engines, output).await;
    engines.stop().await;
    let manifest = made?;
    let created = Created {
        files: manifest.files.len(),
        bytes: manifest.files.values().map(|file| file.bytes).sum(),
        has_secrets: manifest.secrets,
    };
    let sum = manifest.write(unfinished.path())?;
    if let (Some(key), Some(passphrase)) = (key, passphrase) {
        key.write(unfinished.path(), &passphrase, &sum)?;
    }
    unfinished.finish(&manifest.files)?;
    Ok(created)
}

async fn write(
    settings: &Settings,
    engines: &Engines,
    mut output: Output<'_>,
) -> anyhow::Result<Manifest> {
    let analytics = Analytics::connect(&engines.clickhouse().for_analytics())?;
    require_schemas(engines, &analytics).await?;
    let data = DataDir::open(&settings.data_dir)?;
    let started_at = now();
    // First of all: what is processed from here on is in the copy of the spool.
    let spool = data.spool();
    let held = tokio::task::spawn_blocking(move || HeldSpool::begin(&spool)).await??;
    let mut connection = engines.postgres_options().connect().await?;
    let rows = postgres::back_up(&mut connection, &mut output).await?;
    connection.close().await?;
    let tables = clickhouse::back_up(&analytics, &mut output).await?;
    let mut copied = Copied { output };
    let spool = match &held {
        Some(held) => copied.spool(held).await?,
        None => Vec::new(),
    };
    drop(held);
    let dead_letters = copied.folder("dead-letters", &data.dead_letters(), is_dead_letter).await?;
    let is_encrypted = copied.output.key.is_some();
    let has_secrets = match settings.backup.secrets {
        BackupSecrets::Never => false,
        BackupSecrets::Encrypted => is_encrypted,
        BackupSecrets::Always => true,
    };
    let secret_files = if has_secrets {
        copied.folder("secrets", &data.secrets(), |name| !OWN_SECRETS.contains(&name)).await?
    } else {
        Vec::new()
    };
    Ok(Manifest {
        format: Manifest::FORMAT,
        millrace: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: started_at.to_string(),
        finished_at: now().to_string(),
        encrypted: is_encrypted,
        secrets: has_secrets,
        schema: own_schema(),
        postgres: rows.tables,
        sequences: rows.sequences,
        clickhouse: tables,
        spool,
        dead_letters,
        secret_files,
        files: copied.output.files,
    })
}

pub(crate) fn own_schema() -> Schema {
    Schema { postgres: db::schema_version(), clickhouse: Analytics::schema_version() }
}

pub(crate) fn now() -> Timestamp {
    Clock::system().now()
}

/// Refuses stores of another release: their rows are not those that the manifest promises.
async fn require_schemas(engines: &Engines, analytics: &Analytics) -> anyhow::Result<()> {
    const ADVICE: &str = "start the server of this release once, or run `millrace migrate`";
    let pool = db::connect(engines.postgres_options(), 1, std::time::Duration::from_secs(30));
    let is_current = db::schema_is_current(&pool).await.context("PostgreSQL cannot be read");
    pool.close().await;
    ensure!(is_current?, "PostgreSQL does not have the schema of this release: {ADVICE}");
    let is_current = analytics.schema_is_current().await.context("ClickHouse cannot be read")?;
    ensure!(is_current, "ClickHouse does not have the schema of this release: {ADVICE}");
    Ok(())
}

fn is_dead_letter(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == "jsonl")
}

/// Files of the data directory that are copied.
struct Copied<'a> {
    output: Output<'a>,
}

impl Copied<'_> {
    async fn spool(&mut self, held: &HeldSpool) -> anyhow::Result<Vec<NamedFile>> {
        self.output.progress.begin("spool");
        let mut named = Vec::new();
        for file in held.small_files() {
            let entry = self.start("spool", &file.name)?;
            entry.writer.write(file.content.clone().into()).await;
            named.push(self.end(entry).await?);
        }
        for path in held.segments()? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            named.push(self.copy("spool", name, &path).await?);
        }
        // Looked at again: none was freed while they were copied.
        held.segments()?;
        Ok(named)
    }

    async fn folder(
        &mut self,
        name: &str,
        folder: &Path,
        is_copied: impl Fn(&str) -> bool,
    ) -> anyhow::Result<Vec<NamedFile>> {
        self.output.progress.begin(name);
        let mut named = Vec::new();
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(named),
            entries => entries.with_context(|| format!("cannot read {}", folder.display()))?,
        };
        for entry in entries {
            let path = entry?.path();
            let Some(file) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if is_copied(file) && path.is_file() {
                named.push(self.copy(name, file, &path).await?);
            }
        }
        Ok(named)
    }

    async fn copy(&mut self, folder: &str, name: &str, from: &Path) -> anyhow::Result<NamedFile> {
        let unreadable = || format!("cannot read {}", from.display());
        let entry = self.start(folder, name)?;
        let file = fs::File::open(from).with_context(unreadable)?;
        // As long as it is now: it may grow.
        let mut rest = file.metadata().with_context(unreadable)?.len();
        while rest > 0 {
            let mut piece = Vec::with_capacity(PIECE_BYTES);
            let count = (&file)
                .take(rest.min(PIECE_BYTES as u64))
                .read_to_end(&mut piece)
                .with_context(unreadable)? as u64;
            if count == 0 {
                break;
            }
            rest -= count;
            self.output.progress.advance(count);
            if !entry.writer.write(Bytes::from(piece)).await {
                break;
            }
        }
        self.end(entry).await
    }

    fn start(&self, folder: &str, name: &str) -> anyhow::Result<Started> {
        let file = format!("{folder}/{name}.zst");
        let writer = self.output.create(&file)?;
        Ok(Started { named: NamedFile { name: name.to_owned(), file }, writer })
    }

    async fn end(&mut self, started: Started) -> anyhow::Result<NamedFile> {
        let entry = started.writer.finish().await?;
        self.output.files.insert(started.named.file.clone(), entry);
        Ok(started.named)
    }
}

/// A file of the backup that is being written.
struct Started {
    named: NamedFile,
    writer: FileWriter,
}
