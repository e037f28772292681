//! Flags that are settings: each has precedence over its environment variable.

use std::path::PathBuf;

use clap::Args;

/// Settings on the command line; everything else is set in the file or the environment.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Settings")]
pub(super) struct Flags {
    /// The settings file [env: MILLRACE_CONFIG] [default: millrace.toml where it exists]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Address of the API [env: MILLRACE_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", global = true)]
    listen: Option<String>,
    /// Address of /metrics, /livez and /readyz [env: MILLRACE_ADMIN_LISTEN] [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS", global = true)]
    admin_listen: Option<String>,
    /// Address of ClickHouse's interface for tools that ask in SQL, or off [env: MILLRACE_SQL_LISTEN] [default: 127.0.0.1:8124]
    #[arg(long, value_name = "ADDRESS", global = true)]
    sql_listen: Option<String>,
    /// Spool, files of the embedded engines, secrets [env: MILLRACE_DATA_DIR] [default: ./data]
    #[arg(long, value_name = "FOLDER", global = true)]
    data_dir: Option<String>,
    /// Base of links put into messages [env: MILLRACE_PUBLIC_URL] [default: http:// and the API's address]
    #[arg(long, value_name = "URL", global = true)]
    public_url: Option<String>,
    /// A PostgreSQL to use; visible to other users of the machine, unlike the variable [env: DATABASE_URL]
    #[arg(long, value_name = "URL", global = true)]
    database_url: Option<String>,
    /// A ClickHouse to use; visible to other users of the machine, unlike the variable [env: CLICKHOUSE_URL]
    #[arg(long, value_name = "URL", global = true)]
    clickhouse_url: Option<String>,
    /// What this process does [env: MILLRACE_ROLES] [default: api,delivery]
    #[arg(long, value_name = "LIST", global = true)]
    roles: Option<String>,
}

impl From<Flags> for config::Flags {
    fn from(flags: Flags) -> Self {
        let values = [
            ("--listen", "listen", flags.listen),
            ("--admin-listen", "admin_listen", flags.admin_listen),
            ("--sql-listen", "sql_listen", flags.sql_listen),
            ("--data-dir", "data_dir", flags.data_dir),
            ("--public-url", "public_url", flags.public_url),
            ("--database-url", "database_url", flags.database_url),
            ("--clickhouse-url", "clickhouse_url", flags.clickhouse_url),
            ("--roles", "roles", flags.roles),
        ];
        let given = values.into_iter().filter_map(|(flag, key, value)| Some((flag, key, value?)));
        Self { config: flags.config, values: given.collect() }
    }
}
