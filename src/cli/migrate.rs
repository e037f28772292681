//! `millrace migrate`: brings both stores to the newest schema and stops.

use anyhow::Context as _;

use crate::{
    config::Settings,
    db,
    engines::{DataDir, EngineOptions, Engines},
};

/// Migrates, with the engines of a running server or with engines of our own.
pub(super) async fn run(settings: Settings) -> anyhow::Result<()> {
    let data = DataDir::open(&settings.data_dir)?;
    let engines =
        Engines::attach_or_start(&EngineOptions::from_settings(&settings)?, &data).await?;
    let done = async {
        let pool = db::connect(engines.postgres_options(), 1);
        db::migrate(&pool).await.context("PostgreSQL cannot be migrated")?;
        pool.close().await;
        anyhow::Ok(())
    }
    .await;
    engines.stop().await;
    done
}
