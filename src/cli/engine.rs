//! `millrace engine …`: what `serve` runs as processes of their own.

use clap::Subcommand;
use engines::PostgresLaunch;

/// An engine to become.
#[derive(Debug, Subcommand)]
pub(super) enum Engine {
    /// The embedded ClickHouse; takes its orders on standard input
    Clickhouse,
    /// The embedded PostgreSQL
    Postgres(PostgresLaunch),
}

/// Becomes the engine.
pub(super) fn run(engine: &Engine) -> anyhow::Result<()> {
    match engine {
        Engine::Clickhouse => {
            // The parent passes these lines on with a time of its own.
            tracing_subscriber::fmt()
                .with_writer(std::io::stderr)
                .with_ansi(false)
                .without_time()
                .with_max_level(tracing::Level::INFO)
                .init();
            super::block_on(engines::serve_clickhouse())?
        }
        Engine::Postgres(launch) => match engines::launch_postgres(launch)? {},
    }
}
