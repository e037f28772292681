//! Programs of other languages and their packages, installed from their registries. Where these are out of reach, the tests
//! that need them are skipped.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{io::AsyncWriteExt as _, process::Command};

/// The longest time for an installation.
const INSTALL_MAX: Duration = Duration::from_mins(5);
/// The longest time for a script.
pub(crate) const RUN_MAX: Duration = Duration::from_mins(5);

/// A folder for packages, kept from run to run.
fn packages_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages").join(name)
}

/// Runs a program to its end; its output, or what went wrong.
pub(crate) async fn run_program(
    command: &mut Command,
    time_max: Duration,
) -> Result<String, String> {
    run_with_input(command, "", time_max).await
}

/// Likewise, with a short text to read.
pub(crate) async fn run_with_input(
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

/// The Python of an environment of this name, with these packages.
pub(crate) async fn python(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let folder = installed(name, packages, async |folder: &Path| {
        let python = folder.join("bin/python");
        run_program(Command::new("python3").args(["-m", "venv"]).arg(folder), INSTALL_MAX).await?;
        let arguments = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run_program(Command::new(&python).args(arguments).args(packages), INSTALL_MAX).await
    });
    Ok(folder.await?.join("bin/python"))
}

/// Installs packages of npm into a folder of this name.
pub(crate) async fn npm(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let install = async |folder: &Path| {
        // A registry out of reach is soon given up.
        let arguments = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", "."];
        let network =
            ["--prefer-offline", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"];
        let mut npm = Command::new("npm");
        let npm = npm.args(arguments).args(network).args(packages).current_dir(folder);
        run_program(npm, INSTALL_MAX).await
    };
    installed(name, packages, install).await
}

/// The folder with these packages, installed once. Tests that start together, also those of other processes, wait for the
/// one that installs: two installations into one folder damage each other's files.
async fn installed(
    name: &str,
    packages: &[&str],
    install: impl AsyncFnOnce(&Path) -> Result<String, String>,
) -> Result<PathBuf, String> {
    let folder = packages_folder(name);
    let parent = folder.parent().unwrap();
    fs::create_dir_all(parent).map_err(|it| it.to_string())?;
    let lock = File::create(parent.join(format!("{name}.lock"))).map_err(|it| it.to_string())?;
    let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock));
    let _lock = lock.await.unwrap().map_err(|it| it.to_string())?;
    // Written last, so that an installation that was cut off is made again. Versions are pinned, so a whole one is good.
    let complete = parent.join(format!("{name}.installed"));
    let packages = packages.join("\n");
    if fs::read_to_string(&complete).is_ok_and(|found| found == packages) && folder.is_dir() {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|it| it.to_string())?;
    }
    fs::create_dir(&folder).map_err(|it| it.to_string())?;
    install(&folder).await?;
    fs::write(&complete, packages).map_err(|it| it.to_string())?;
    Ok(folder)
}
