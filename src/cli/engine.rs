//! `millrace engine …`: the child processes of `serve`.

use clap::Subcommand;
use engines::PostgresLaunch;

#[derive(Debug, Subcommand)]
pub(super) enum Engine {
    /// The embedded ClickHouse; takes its orders on standard input
    Clickhouse,
    /// The embedded PostgreSQL server
    Postgres(PostgresLaunch),
}

pub(super) fn run(engine: &Engine) -> anyhow::Result<()> {
    match engine {
        Engine::Clickhouse => {
            // The parent adds a timestamp when it forwards these lines.
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
