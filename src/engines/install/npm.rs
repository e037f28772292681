//! Runs the npm client in a staging folder.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    process::{Command, Stdio},
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{super::Error, package::Package, progress};

/// Error lines of the client that are kept.
const ERROR_LINES_MAX: usize = 12;
/// Of those, lines in the message to the operator: the code and the cause.
const SUMMARY_LINES: usize = 3;
/// Lists the links that a package's post-install script would make.
const LINKS_FILE: &str = "native/pg-symlinks.json";

/// Installs `package` below `staging`, and checks that it is complete.
pub(super) fn install(npm: &Path, package: &Package, staging: &Path) -> Result<(), Error> {
    let Some(name) = package.name else {
        return Err(Error::Install(format!(
            "there is no {} package for this platform",
            package.engine
        )));
    };
    let (manifest, lock) = manifest(package, name).ok_or_else(|| {
        Error::Install(format!("the lock file of {} lacks {name}", package.engine))
    })?;
    for (file, text) in [("package.json", manifest), ("package-lock.json", lock)] {
        let path = staging.join(file);
        fs::write(&path, text.to_string()).map_err(Error::file("write", &path))?;
    }
    let output = progress::while_filling(package.engine, staging, package.bytes, || {
        // Scripts of packages are not run; `link` does what they would do.
        Command::new(npm)
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
            .args(["--progress=false", "--no-update-notifier"])
            .current_dir(staging)
            .stdin(Stdio::null())
            .output()
    })
    .map_err(|error| missing_client(package, &error))?;
    let home = staging.join("node_modules").join(name);
    let absent = package.files.iter().find(|file| !home.join(file).is_file());
    if output.status.success() && absent.is_none() {
        tracing::info!(engine = package.engine, "{} is installed", package.engine);
        return link(&home);
    }
    let errors = error_lines(&output.stderr, &output.stdout);
    tracing::warn!(engine = package.engine, status = %output.status, npm = ?errors, "npm failed");
    let why = match absent {
        Some(file) if output.status.success() => format!("{name} holds no {file}"),
        _ => errors.into_iter().take(SUMMARY_LINES).collect::<Vec<_>>().join(", "),
    };
    Err(Error::Install(format!("npm could not install {} ({why})", package.engine)))
}

/// The client's `package.json` and lock: only the entry for this platform, and required. In the committed
/// files all platforms' packages are optional, and the client skips an optional package it cannot download
/// without an error.
fn manifest(package: &Package, name: &str) -> Option<(Value, Value)> {
    let lock: Value = serde_json::from_str(package.lock).ok()?;
    let path = format!("node_modules/{name}");
    let mut entry = lock.get("packages")?.get(&path)?.as_object()?.clone();
    entry.remove("optional");
    let mut root = serde_json::Map::new();
    root.insert("name".to_owned(), package.stem.into());
    root.insert("version".to_owned(), "1.0.0".into());
    root.insert("dependencies".to_owned(), json!({ name: entry.get("version")? }));
    let lock = json!({
        "name": package.stem,
        "version": "1.0.0",
        "lockfileVersion": 3,
        "requires": true,
        "packages": { "": root.clone(), path: entry },
    });
    Some((Value::Object(root), lock))
}

fn missing_client(package: &Package, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::NotFound {
        Error::Install(format!("npm, which installs {}, was not found", package.engine))
    } else {
        Error::Install(format!("npm, which installs {}, does not run: {error}", package.engine))
    }
}

/// The client's error lines without their prefix.
fn error_lines(stderr: &[u8], stdout: &[u8]) -> Vec<String> {
    let text = [stderr, stdout].concat();
    let text = String::from_utf8_lossy(&text);
    let errors = text.lines().filter_map(|line| line.strip_prefix("npm error "));
    errors
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(ERROR_LINES_MAX)
        .map(str::to_owned)
        .collect()
}

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
