//! The stores of a command: those of a running server, or engines of its own.

use std::time::Duration;

use analytics::Analytics;
use anyhow::Context as _;
use config::Settings;
use engines::{EngineOptions, Engines, Needs};
use sqlx::PgPool;
use web::db;

/// Connections of a command: one for its work, one for lookups of its transactions.
const CONNECTIONS_MAX: u32 = 2;
/// How long a command waits for a connection.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Runs `work` on a migrated PostgreSQL.
pub(super) async fn with_postgres<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&PgPool) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    with_engines(settings, Needs::POSTGRES, async |engines| {
        let pool = postgres(engines).await?;
        let result = work(&pool).await;
        pool.close().await;
        result
    })
    .await
}

/// Runs `work` on a migrated ClickHouse.
pub(super) async fn with_clickhouse<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&Analytics) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    with_engines(settings, Needs::CLICKHOUSE, async |engines| {
        work(&clickhouse(engines).await?).await
    })
    .await
}

/// Runs `work` on both stores, migrated.
pub(super) async fn with_both<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&PgPool, &Analytics) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    with_engines(settings, Needs::BOTH, async |engines| {
        let pool = postgres(engines).await?;
        let result = work(&pool, &clickhouse(engines).await?).await;
        pool.close().await;
        result
    })
    .await
}

pub(super) async fn migrate(settings: &Settings) -> anyhow::Result<()> {
    with_engines(settings, Needs::BOTH, async |engines| {
        postgres(engines).await?.close().await;
        clickhouse(engines).await?;
        Ok(())
    })
    .await
}

async fn with_engines<T>(
    settings: &Settings,
    needs: Needs,
    work: impl AsyncFnOnce(&Engines) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let options = EngineOptions { needs, ..EngineOptions::from_settings(settings)? };
    let engines = Engines::attach_or_start(&options, &settings.data_dir).await?;
    let result = work(&engines).await;
    engines.stop().await;
    result
}

async fn postgres(engines: &Engines) -> anyhow::Result<PgPool> {
    let pool = db::connect(engines.postgres_options(), CONNECTIONS_MAX, WAIT_MAX);
    db::migrate(&pool).await.context("PostgreSQL cannot be migrated")?;
    Ok(pool)
}

async fn clickhouse(engines: &Engines) -> anyhow::Result<Analytics> {
    let analytics = Analytics::connect(&engines.clickhouse().for_analytics())?;
    analytics.migrate().await.context("ClickHouse cannot be migrated")?;
    Ok(analytics)
}
