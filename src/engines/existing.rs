//! Engines that run or are installed already, found without starting, installing or changing anything.

use config::Settings;
use sqlx::postgres::PgConnectOptions;

use super::{ClickHouseAddress, DataDir, EngineOptions, Engines, Error, clickhouse, postgres};

/// Addresses of the external engines, and of the embedded ones that answer.
#[derive(Debug)]
pub struct RunningEngines {
    pub postgres: Option<PgConnectOptions>,
    pub clickhouse: Option<ClickHouseAddress>,
}

impl RunningEngines {
    /// The engines that the settings name, else those of the server that has the data directory.
    ///
    /// # Errors
    /// If an address in the settings cannot be read.
    pub async fn find(options: &EngineOptions, data: Option<&DataDir>) -> Result<Self, Error> {
        let Engines { postgres, clickhouse, .. } = Engines::given(options)?;
        let mut found = Self { postgres, clickhouse };
        let Some(data) = data else { return Ok(found) };
        // Without a server the published address may lead to another program.
        if data.server_pid()?.is_none() {
            return Ok(found);
        }
        if found.postgres.is_none()
            && let Ok(options) = postgres::connect_options(&data.path().join("postgres"))
            && postgres::answers(&options).await
        {
            found.postgres = Some(options);
        }
        if found.clickhouse.is_none()
            && let Some(address) = clickhouse::published(data)
            && clickhouse::answers(&address).await
            // Then it still held the port when it was called.
            && data.server_pid()?.is_some()
        {
            found.clickhouse = Some(address);
        }
        Ok(found)
    }
}

/// Whether an embedded engine is installed.
#[derive(Debug)]
pub struct Installation {
    pub engine: &'static str,
    /// What a start would use: a version, or the path of a library. None if it would install one.
    pub found: Option<String>,
}

/// The installations of the engines that the settings leave to Millrace.
pub fn installations(settings: &Settings) -> Vec<Installation> {
    let mut found = Vec::new();
    if settings.database_url.is_none() {
        let folder = settings.data_dir.join("postgres");
        let version = postgres::existing_version(&folder, &settings.engines);
        found.push(Installation { engine: "PostgreSQL", found: version });
    }
    if settings.clickhouse_url.is_none() {
        let library = clickhouse::existing_library(&settings.engines);
        let path = library.map(|path| path.display().to_string());
        found.push(Installation { engine: "ClickHouse", found: path });
    }
    found
}
