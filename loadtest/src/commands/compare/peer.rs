//! Another program that takes events over HTTP and stores them in the same ClickHouse: started by its script
//! `peers/<name>/run`, which says by exit status 77 that it cannot run here.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use tokio::time;

use super::otlp;
use crate::{
    api::Intake,
    clickhouse::ClickHouse,
    source::Held,
    target::{ClickHouseTarget, Endpoint},
};

/// Exit status of a script whose program is not there: that of a skipped test in Automake and Meson.
const SKIPPED: i32 = 77;
/// Longest wait for a peer to listen, installing it included.
const START_PATIENCE: Duration = Duration::from_mins(3);
/// Pause between two looks whether it listens.
const START_PAUSE: Duration = Duration::from_millis(50);

/// What a peer's `peer.json` says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    /// Path of its requests.
    path: String,
    body: BodyKind,
    /// The table it fills, made by its `schema.sql`.
    table: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BodyKind {
    /// What Millrace takes: an event, or an array of them.
    Json,
    /// Log records by the OpenTelemetry protocol, in protobuf.
    Otlp,
}

/// A peer that runs, and its table.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) endpoint: Endpoint,
    description: Description,
    process: Child,
    target: ClickHouseTarget,
}

/// A peer, or why there is none here.
#[derive(Debug)]
pub(super) enum Start {
    Running(Box<Peer>),
    Skipped { reason: String },
}

impl Peer {
    /// Starts the peer's program and makes its table anew.
    ///
    /// # Errors
    /// No such peer, a program that ends or does not listen, a table that cannot be made.
    pub(super) async fn start(dir: &Path, name: &str, target: &ClickHouseTarget) -> Result<Start> {
        let dir = dir.join(name);
        let text = fs::read_to_string(dir.join("peer.json"))
            .with_context(|| format!("there is no peer {name} in {}", dir.display()))?;
        let description: Description =
            serde_json::from_str(&text).with_context(|| format!("{name}/peer.json"))?;
        let port = free_port()?;
        let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}"), false)?;
        let process = Command::new(dir.join("run"))
            .env("PEER_PORT", port.to_string())
            .env("PEER_TABLE", &description.table)
            .env("PEER_CACHE", cache(&dir)?)
            .env("PEER_CLICKHOUSE_URL", format!("http://{}", target.endpoint.authority))
            .env("PEER_CLICKHOUSE_USER", &target.user)
            .env("PEER_CLICKHOUSE_PASSWORD", &target.password)
            .env("PEER_CLICKHOUSE_DATABASE", &target.database)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let (name, target) = (name.to_owned(), target.clone());
        let mut peer = Self { name, endpoint, description, process, target };
        if let Some(reason) = peer.listens().await? {
            return Ok(Start::Skipped { reason });
        }
        peer.pass_output_on();
        peer.drop_table().await?;
        peer.clickhouse()?.execute(&fs::read_to_string(dir.join("schema.sql"))?, &[]).await?;
        Ok(Start::Running(Box::new(peer)))
    }

    /// Waits until the peer takes connections; or why it will not.
    async fn listens(&mut self) -> Result<Option<String>> {
        let deadline = Instant::now() + START_PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait()? {
                let mut output = String::new();
                if let Some(mut out) = self.process.stdout.take() {
                    std::io::Read::read_to_string(&mut out, &mut output)?;
                }
                ensure!(status.code() == Some(SKIPPED), "{} ended: {status} {output}", self.name);
                return Ok(Some(output.trim().to_owned()));
            }
            if tokio::net::TcpStream::connect(&self.endpoint.authority).await.is_ok() {
                return Ok(None);
            }
            time::sleep(START_PAUSE).await;
        }
        bail!("{} did not listen within {} s", self.name, START_PATIENCE.as_secs())
    }

    /// Prints what the program writes, which would stop once nothing read it.
    fn pass_output_on(&mut self) {
        if let Some(mut out) = self.process.stdout.take() {
            std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::stderr()));
        }
    }

    pub(super) fn intake(&self) -> Intake {
        let content_type = match self.description.body {
            BodyKind::Json => "application/json",
            BodyKind::Otlp => "application/x-protobuf",
        };
        Intake::Peer { path: self.description.path.clone(), content_type }
    }

    /// The same events in the peer's form.
    ///
    /// # Errors
    /// A body that is no JSON.
    pub(super) fn bodies(&self, held: &Held) -> Result<Held> {
        match self.description.body {
            BodyKind::Json => Ok(held.clone()),
            BodyKind::Otlp => held.try_map(otlp::export_request),
        }
    }

    /// A new connection: one that was not used for a while, ClickHouse may close at any moment.
    fn clickhouse(&self) -> Result<ClickHouse> {
        ClickHouse::new(&self.target)
    }

    /// Rows of its table.
    pub(super) async fn rows(&self) -> Result<u64> {
        let query =
            format!("select count() from {} format JSONCompactEachRow", self.description.table);
        self.clickhouse()?.number(&query, &[]).await
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }

    async fn drop_table(&self) -> Result<()> {
        let statement = format!("drop table if exists {} sync", self.description.table);
        self.clickhouse()?.execute(&statement, &[]).await
    }

    /// Ends the program and drops its table.
    pub(super) async fn stop(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        self.drop_table().await
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Already gone after `stop`.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// A port that nothing listens on now.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A folder in which a peer's script may install what it needs.
fn cache(dir: &Path) -> Result<PathBuf> {
    let cache = std::path::absolute(dir.join(".cache"))?;
    fs::create_dir_all(&cache)?;
    Ok(cache)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    async fn start(script: &str) -> Result<Start> {
        let dir = tempfile::tempdir()?;
        let peer = dir.path().join("some");
        fs::create_dir(&peer)?;
        fs::write(peer.join("peer.json"), r#"{"path":"/","body":"json","table":"some"}"#)?;
        fs::write(peer.join("run"), format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(peer.join("run"), fs::Permissions::from_mode(0o700))?;
        let target = ClickHouseTarget::parse("http://user:pass@127.0.0.1:1/db", false)?;
        Peer::start(dir.path(), "some", &target).await
    }

    #[tokio::test]
    async fn a_peer_that_cannot_run_here_is_skipped_with_its_reason() {
        let skipped = start("echo it is not installed; exit 77").await.unwrap();
        assert!(matches!(skipped, Start::Skipped { reason } if reason == "it is not installed"));
        let failed = start("echo oh; exit 1").await.unwrap_err().to_string();
        assert!(failed.contains("some ended") && failed.contains("oh"), "{failed}");
    }
}
