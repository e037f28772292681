//! Restores a backup.
//!
//! All files are compared with the manifest before anything is made. The data directory is marked until everything is in
//! place, so that no server starts on half of it.
//!
//! Messages that left after the backup was made are not known to it. So that none leaves twice, campaigns that were
//! scheduled or under way are paused: a person decides which go on, knowing what the former server sent. Single
//! messages that waited become `unknown`, and confirmations that waited are not sent. A message that was in flight
//! becomes `unknown` by itself, as after a crash.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use analytics::Analytics;
use anyhow::{Context as _, bail, ensure};
use config::Settings;
use engines::{DataDir, EngineOptions, Engines, vault::Vault};
use secrecy::SecretString;
use sqlx::{ConnectOptions as _, Connection as _};
use web::db::{self, master_key};

use crate::{
    clickhouse,
    create::{now, own_schema},
    files::{self, Input},
    folder,
    manifest::{Manifest, NamedFile},
    postgres::{self, Rows},
    progress::Progress,
    seal::Key,
    settle::{Settled, settle},
};

/// How long a restore waits for a connection.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// What is restored, and into which deployment.
#[derive(Debug)]
pub struct RestoreOptions<'a> {
    /// The settings of the new server.
    pub settings: &'a Settings,
    /// The folder of the backup.
    pub source: PathBuf,
    /// Opens an encrypted backup.
    pub passphrase: Option<SecretString>,
    /// Shows how far it is.
    pub progress: Progress,
}

/// What was restored.
#[derive(Debug, Clone, Copy)]
pub struct Restored {
    /// Rows of PostgreSQL and ClickHouse.
    pub rows: u64,
    /// Campaigns that are paused now.
    pub paused: u64,
    /// Single messages and confirmations that will not leave.
    pub given_up: u64,
    /// Whether secrets in the stores can be opened with the master key there is; none if there is no key.
    pub opens_secrets: Option<bool>,
}

/// Restores a backup into an empty data directory, and into empty external stores where the settings name them.
///
/// # Errors
/// In one line. The data directory keeps a mark then, so that nothing starts on it.
pub async fn restore(options: RestoreOptions<'_>) -> anyhow::Result<Restored> {
    let RestoreOptions { settings, source, passphrase, progress } = options;
    let (manifest, sum) = Manifest::read(&source)?;
    manifest.check_schema(&own_schema())?;
    // At its start the server erases people of this list again.
    folder::require_empty_but(
        &settings.data_dir,
        &[privacy::erasures_file::FILE],
        "a backup is restored into an empty data directory; name another with MILLRACE_DATA_DIR",
    )?;
    let key = match (manifest.encrypted, &passphrase) {
        (false, _) => None,
        (true, None) => bail!(
            "the backup is encrypted: name its passphrase with MILLRACE_BACKUP_PASSPHRASE or --passphrase-file"
        ),
        (true, Some(passphrase)) => Some(Key::read(&source, passphrase, &sum)?),
    };
    verify(&source, &manifest, &progress).await?;
    let input = Input { dir: &source, key, progress: &progress };
    let data = DataDir::open(&settings.data_dir)?;
    let lock = data.begin_restore().await?;
    put_files(&input, &manifest.secret_files, &data.secrets()).await?;
    let engines = Engines::start(&EngineOptions::from_settings(settings)?, &data).await?;
    let rows = Rows { tables: manifest.postgres.clone(), sequences: manifest.sequences.clone() };
    let filled = fill(&engines, &input, &manifest, &rows).await;
    let opens_secrets = match &filled {
        Ok(_) => opens_secrets(settings, &data, &engines).await,
        Err(_) => Ok(None),
    };
    engines.stop().await;
    let settled = filled?;
    progress.begin("spool");
    put_files(&input, &manifest.spool, &data.spool()).await?;
    put_files(&input, &manifest.dead_letters, &data.dead_letters()).await?;
    data.end_restore()?;
    drop(lock);
    let tables = manifest.postgres.iter().chain(&manifest.clickhouse);
    Ok(Restored {
        rows: tables.map(|table| table.rows).sum(),
        paused: settled.paused,
        given_up: settled.given_up,
        opens_secrets: opens_secrets?,
    })
}

/// Compares all files with the manifest.
async fn verify(source: &Path, manifest: &Manifest, progress: &Progress) -> anyhow::Result<()> {
    progress.begin("checking files");
    for (name, entry) in &manifest.files {
        let (path, entry, progress) = (source.join(name), entry.clone(), progress.clone());
        let verified = tokio::task::spawn_blocking(move || {
            files::verify(&path, &entry, |bytes| progress.advance(bytes))
        });
        verified.await??;
    }
    Ok(())
}

/// Fills the stores, which must be empty.
async fn fill(
    engines: &Engines,
    input: &Input<'_>,
    manifest: &Manifest,
    rows: &Rows,
) -> anyhow::Result<Settled> {
    let pool = db::connect(engines.postgres_options(), 1, WAIT_MAX);
    let analytics = Analytics::connect(&engines.clickhouse().for_analytics())?;
    let mut connection = engines.postgres_options().connect().await?;
    ensure!(
        postgres::is_empty(&mut connection).await?,
        "the database that DATABASE_URL names has tables: name an empty one"
    );
    ensure!(
        analytics.is_empty().await?,
        "the database that CLICKHOUSE_URL names has tables: name an empty one"
    );
    db::migrate(&pool).await.context("PostgreSQL cannot be migrated")?;
    pool.close().await;
    analytics.migrate().await.context("ClickHouse cannot be migrated")?;
    clickhouse::restore(&analytics, input, &manifest.clickhouse).await?;
    let settled =
        postgres::restore(&mut connection, input, rows, async |tx| settle(tx, now()).await).await?;
    connection.close().await?;
    Ok(settled)
}

async fn opens_secrets(
    settings: &Settings,
    data: &DataDir,
    engines: &Engines,
) -> anyhow::Result<Option<bool>> {
    let Some(vault) = Vault::existing(settings, Some(data))? else { return Ok(None) };
    let pool = db::connect(engines.postgres_options(), 1, WAIT_MAX);
    let compared = master_key::compare(&pool, &vault.check_value()).await;
    pool.close().await;
    Ok(Some(compared? != master_key::MasterKey::Foreign))
}

/// Writes files of the data directory, and makes them durable.
async fn put_files(input: &Input<'_>, named: &[NamedFile], to: &Path) -> anyhow::Result<()> {
    for NamedFile { name, file } in named {
        let mut reader = input.open(file)?;
        let path = to.join(name);
        if path.try_exists()? {
            bail!("{} exists already", path.display());
        }
        let mut content = folder::create_file(&path)?;
        let unwritable = || format!("cannot write {}", path.display());
        while let Some(piece) = reader.next().await? {
            std::io::Write::write_all(&mut content, &piece).with_context(unwritable)?;
        }
        content.sync_all().with_context(unwritable)?;
    }
    if fs::exists(to)? {
        folder::sync_folders(to)?;
    }
    Ok(())
}
