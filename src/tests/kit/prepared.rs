//! A data directory as the first start leaves it. Servers whose tests are not about the first start begin with a copy:
//! making the stores takes three times as long as starting on them.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use super::{data_dir, process};

/// Settings with which the stores are elsewhere or made otherwise.
const OTHER_STORES: [&str; 3] = ["DATABASE_URL", "CLICKHOUSE_URL", "MILLRACE_SECURITY__MASTER_KEY"];

struct Prepared {
    folder: PathBuf,
    /// The demo key that the first start printed.
    key: String,
}

/// Made by the first server of this process that asks.
static PREPARED: LazyLock<Prepared> = LazyLock::new(|| {
    let folder = data_dir("prepared");
    let key = process::first_start(&folder);
    // Each server has a port of its own.
    std::fs::remove_file(folder.join("clickhouse/port")).unwrap();
    Prepared { folder, key }
});

/// Whether a server with these settings makes its own stores.
pub(super) fn has_own_stores<'s>(mut settings: impl Iterator<Item = &'s str>) -> bool {
    !settings.any(|name| OTHER_STORES.contains(&name))
}

/// Fills a data directory that does not exist yet. Gives the demo key.
pub(super) fn copy_to(data_dir: &Path) -> Option<String> {
    if data_dir.exists() {
        return None;
    }
    let Prepared { folder, key } = &*PREPARED;
    // With owners: PostgreSQL runs as another user where this process is root.
    let done = Command::new("cp").args(["-a", "--"]).args([folder, data_dir]).status().unwrap();
    assert!(done.success(), "{} cannot be copied", folder.display());
    Some(key.clone())
}
