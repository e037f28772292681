//! The official packages, unmodified: installed from their registries once, with the README's examples for them.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::LazyLock,
    time::Duration,
};

use tokio::{io::AsyncWriteExt as _, process::Command};

use super::*;

/// The longest time for an installation.
pub(super) const INSTALL_MAX: Duration = Duration::from_mins(5);
/// The longest time for a script.
pub(super) const RUN_MAX: Duration = Duration::from_mins(1);
/// The address and the key of the README's examples.
const README_HOST: &str = "http://127.0.0.1:8080";
const README_KEY: &str = "WRITE_KEY";

/// Where the packages are kept.
pub(super) static FOLDER: LazyLock<PathBuf> =
    LazyLock::new(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("event-sdk-packages"));

/// Runs a program to its end; its output, or what went wrong.
pub(super) async fn run(command: &mut Command, time_max: Duration) -> Result<String, String> {
    run_with(command, "", time_max).await
}

/// Likewise, with a short text to read.
pub(super) async fn run_with(
    command: &mut Command,
    input: &str,
    time_max: Duration,
) -> Result<String, String> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = tokio::time::timeout(time_max, async {
        let mut child = command.kill_on_drop(true).spawn()?;
        // A program that needs no input may have ended.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()).await);
        child.wait_with_output().await
    });
    let output =
        ended.await.map_err(|_| "it takes too long".to_owned())?.map_err(|it| it.to_string())?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// Installs packages of npm into a folder of this name.
pub(super) async fn npm(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let folder = FOLDER.join(name);
    tokio::fs::create_dir_all(&folder).await.map_err(|it| it.to_string())?;
    // Versions are pinned, so what was downloaded before is the same. A registry out of reach is soon given up.
    let arguments = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", "."];
    let network =
        ["--prefer-offline", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"];
    let mut npm = Command::new("npm");
    run(npm.args(arguments).args(network).args(packages).current_dir(&folder), INSTALL_MAX).await?;
    Ok(folder)
}

/// The README's example for a package, in the block that names it, with this key.
pub(super) fn example(package: &str, key: &str) -> String {
    let readme = include_str!("../../../sdk/README.md");
    let end = format!(" install {package}");
    let line = readme.lines().find(|line| line.ends_with(&end));
    let start = readme.find(line.expect("an example")).unwrap();
    let (code, _) = readme[start..].split_once("```").unwrap();
    with_key(code, key)
}

/// Code with the address of the server and this key instead of those of the README.
pub(super) fn with_key(code: &str, key: &str) -> String {
    code.replace(README_HOST, &server().url).replace(README_KEY, key)
}
