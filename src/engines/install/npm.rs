//! Runs the npm client in a staging folder.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    process::{Command, Stdio},
};

use serde::Deserialize;

use super::{super::Error, package::Package, progress};

/// Lines of the client's complaint that are kept.
const COMPLAINT_LINES_MAX: usize = 12;
/// Lists the links a package's post-install script would make.
const LINKS_FILE: &str = "native/pg-symlinks.json";

/// Installs `package` below `staging`, and checks that all of it is there.
pub(super) fn install(npm: &Path, package: &Package, staging: &Path) -> Result<(), Error> {
    let Some(name) = package.name else {
        return Err(Error::Install(format!(
            "there is no {} package for this platform",
            package.engine
        )));
    };
    for (file, text) in [("package.json", package.manifest), ("package-lock.json", package.lock)] {
        let path = staging.join(file);
        fs::write(&path, text).map_err(Error::file("write", &path))?;
    }
    let output = progress::while_filling(package.engine, staging, package.bytes, || {
        // Scripts of packages are not run: what they would do is done below.
        Command::new(npm)
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
            .args(["--progress=false", "--include=optional", "--no-update-notifier"])
            .current_dir(staging)
            .stdin(Stdio::null())
            .output()
    })
    .map_err(|error| missing_client(package, &error))?;
    let home = staging.join("node_modules").join(name);
    let absent = package.files.iter().find(|file| !home.join(file).is_file());
    // npm passes over an optional package it cannot get, with status 0.
    if !output.status.success() || absent.is_some() {
        let said = complaint(&output.stderr, &output.stdout);
        tracing::warn!(engine = package.engine, status = %output.status, npm = %said, "npm failed");
        let first = said.lines().next().unwrap_or("it said nothing").to_owned();
        return Err(Error::Install(format!("npm could not install {}: {first}", package.engine)));
    }
    link(&home)
}

fn missing_client(package: &Package, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::NotFound {
        Error::Install(format!("npm, which installs {}, was not found", package.engine))
    } else {
        Error::Install(format!("npm, which installs {}, does not run: {error}", package.engine))
    }
}

/// The last lines of what the client said.
fn complaint(stderr: &[u8], stdout: &[u8]) -> String {
    let text = if stderr.trim_ascii().is_empty() { stdout } else { stderr };
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("error")).collect();
    let lines = if lines.is_empty() { text.lines().collect() } else { lines };
    lines[..lines.len().min(COMPLAINT_LINES_MAX)].join("\n")
}

/// One link of a package.
#[derive(Debug, Deserialize)]
struct Link {
    source: PathBuf,
    target: PathBuf,
}

/// Makes the links a package lists, which npm packages cannot hold.
fn link(home: &Path) -> Result<(), Error> {
    let list = home.join(LINKS_FILE);
    let text = match fs::read(&list) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::file("read", &list)(error)),
    };
    let links: Vec<Link> = serde_json::from_slice(&text)
        .map_err(|error| Error::file("read", &list)(io::Error::other(error)))?;
    for Link { source, target } in links {
        if !(inside(&source) && inside(&target)) {
            let reason = io::Error::other("a link leads out of the package");
            return Err(Error::file("read", &list)(reason));
        }
        let depth = target.components().count() - 1;
        let up: PathBuf = std::iter::repeat_n("..", depth).collect();
        let path = home.join(&target);
        std::os::unix::fs::symlink(up.join(&source), &path).map_err(Error::file("link", &path))?;
    }
    Ok(())
}

fn inside(path: &Path) -> bool {
    path.components().next().is_some()
        && path.components().all(|part| matches!(part, Component::Normal(_)))
}
