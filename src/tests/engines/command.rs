//! A short-lived command, run to its end.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::kit::MILLRACE;

/// What a command left.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `millrace` with these arguments on a data directory.
pub(crate) async fn millrace(data_dir: &Path, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(MILLRACE);
    command
        .args(arguments)
        .env("MILLRACE_DATA_DIR", data_dir)
        .env("MILLRACE_LISTEN", "127.0.0.1:0")
        .env("MILLRACE_ADMIN_LISTEN", "127.0.0.1:0")
        .env("MILLRACE_SQL_LISTEN", "127.0.0.1:0")
        .env_remove("DATABASE_URL")
        .env_remove("CLICKHOUSE_URL")
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    Outcome {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
