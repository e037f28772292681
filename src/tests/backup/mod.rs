//! `millrace backup` and `millrace restore`.

mod bad_input;
mod drill;
mod encrypted;

use std::path::{Path, PathBuf};

use crate::{
    engines::command::{Outcome, millrace},
    kit::{MILLRACE, data_dir},
};

/// A folder for backups of a test; the backup itself is made in it.
fn backups(name: &str) -> PathBuf {
    let folder = data_dir(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

async fn back_up(data: &Path, target: &Path) -> Outcome {
    millrace(data, &["backup", target.to_str().unwrap()]).await
}

async fn restore(data: &Path, source: &Path) -> Outcome {
    millrace(data, &["restore", source.to_str().unwrap()]).await
}

fn manifest(backup: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(backup.join("manifest.json")).unwrap()).unwrap()
}

/// Runs a command with these variables.
async fn beside(variables: &[(&str, String)], data: &Path, arguments: &[&str]) -> Outcome {
    let output = tokio::process::Command::new(MILLRACE)
        .args(arguments)
        .env("MILLRACE_DATA_DIR", data)
        .env("MILLRACE_SQL_LISTEN", "off")
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .output()
        .await
        .unwrap();
    Outcome {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
