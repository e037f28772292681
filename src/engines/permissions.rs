//! Who may read what the data directory holds: its owner alone.

use std::{
    fs::{self, Metadata, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

/// The rights of the group and of everybody else.
const OTHERS: u32 = 0o077;
/// The bit of a folder that is shared by design, such as `/tmp`.
const STICKY: u32 = 0o1000;
/// Folders of the data directory whose files are closed one by one.
const FOLDERS: [&str; 3] = ["dead-letters", "secrets", "spool"];
/// Folders of the engines. What is below belongs to the engines, who make it for their user alone; where it
/// is wider, nobody else gets to it.
const ENGINES: [&str; 2] = ["clickhouse", "postgres"];
/// Held by the one program that uses the directory; says who it is.
pub(super) const LOCK_FILE: &str = "millrace.lock";
/// Where the server that runs the embedded ClickHouse publishes its address, password included.
pub(super) const CLICKHOUSE_URL_FILE: &str = "clickhouse.url";
/// Files beside the folders.
const FILES: [&str; 2] = [CLICKHOUSE_URL_FILE, LOCK_FILE];

/// Takes the rights of other users away from the data directory and from what Millrace keeps in it. Other
/// files stay as they are, and so does a folder that is shared by design or that belongs to another user:
/// then a log line says so, and the folders in it are closed all the same.
pub(super) fn close_to_others(data: &Path) {
    close(data);
    for name in FILES {
        close(&data.join(name));
    }
    for name in FOLDERS {
        close(&data.join(name));
        close_in(&data.join(name), Metadata::is_file);
    }
    for name in ENGINES {
        close(&data.join(name));
        // PostgreSQL refuses to start on a folder that others may enter.
        close_in(&data.join(name), Metadata::is_dir);
    }
}

/// What came of one file or folder.
enum Outcome {
    /// It is closed, or not there.
    Closed,
    /// It was open, with these rights, and is closed now.
    WasOpen(u32),
    /// It stays open, with these rights.
    Shared(u32),
    Failed(u32, io::Error),
}

fn close(path: &Path) {
    let shown = path.display();
    match try_close(path) {
        Outcome::Closed => {}
        Outcome::WasOpen(mode) => {
            tracing::warn!(path = %shown, mode = %octal(mode), "other users could use this and no longer can");
        }
        Outcome::Shared(mode) => {
            tracing::warn!(path = %shown, mode = %octal(mode), "a folder shared by all users holds the data; use one of its own");
        }
        Outcome::Failed(mode, error) => {
            tracing::warn!(path = %shown, mode = %octal(mode), %error, "other users can use this, and its mode cannot be changed");
        }
    }
}

/// Closes what is in a folder, with one log line for all of it.
fn close_in(folder: &Path, is_meant: fn(&Metadata) -> bool) {
    // A folder that is not there has nothing to close; one that cannot be read fails where it is used.
    let Ok(entries) = fs::read_dir(folder) else { return };
    let (mut closed, mut open) = (0_u32, 0_u32);
    for entry in entries.flatten() {
        // Not what a symbolic link leads to.
        if !entry.metadata().is_ok_and(|found| is_meant(&found)) {
            continue;
        }
        match try_close(&entry.path()) {
            Outcome::Closed => {}
            Outcome::WasOpen(_) => closed += 1,
            Outcome::Shared(_) | Outcome::Failed(..) => open += 1,
        }
    }
    if closed + open > 0 {
        tracing::warn!(folder = %folder.display(), closed, still_open = open, "other users could use what is in this folder");
    }
}

fn try_close(path: &Path) -> Outcome {
    let Ok(found) = fs::metadata(path) else { return Outcome::Closed };
    let mode = found.permissions().mode() & 0o7777;
    if mode & OTHERS == 0 {
        return Outcome::Closed;
    }
    if mode & STICKY != 0 {
        return Outcome::Shared(mode);
    }
    match fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS)) {
        Ok(()) => Outcome::WasOpen(mode),
        // Another process has just removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Outcome::Closed,
        Err(error) => Outcome::Failed(mode, error),
    }
}

fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_was_open_is_closed_and_other_files_stay_as_they_are() {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("data");
        let at = |name: &str| data.join(name);
        for folder in ["spool", "dead-letters", "secrets", "clickhouse/files", "postgres/18", "own"]
        {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in
            ["spool/1.log", "dead-letters/a.jsonl", "secrets/key", "clickhouse.url", "own/f"]
        {
            fs::write(at(file), "").unwrap();
            set(&at(file), 0o644);
        }
        fs::write(scratch.path().join("elsewhere"), "").unwrap();
        set(&scratch.path().join("elsewhere"), 0o644);
        std::os::unix::fs::symlink(scratch.path().join("elsewhere"), at("secrets/link")).unwrap();
        for folder in ["", "spool", "dead-letters", "secrets", "clickhouse/files", "clickhouse"] {
            set(&at(folder), 0o777);
        }
        set(&at("postgres/18"), 0o750);
        set(&at("postgres"), 0o2775);
        close_to_others(&data);
        for folder in ["", "spool", "dead-letters", "secrets", "clickhouse/files", "clickhouse"] {
            assert_eq!(mode(&at(folder)), 0o700, "{folder}");
        }
        assert_eq!((mode(&at("postgres")), mode(&at("postgres/18"))), (0o2700, 0o700));
        for file in ["spool/1.log", "dead-letters/a.jsonl", "secrets/key", "clickhouse.url"] {
            assert_eq!(mode(&at(file)), 0o600, "{file}");
        }
        assert_eq!(mode(&at("own/f")), 0o644, "not a file of ours");
        assert_eq!(mode(&scratch.path().join("elsewhere")), 0o644, "behind a link");
    }

    #[test]
    fn a_folder_that_all_share_stays_shared() {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("shared");
        fs::create_dir_all(data.join("spool")).unwrap();
        set(&data.join("spool"), 0o755);
        set(&data, 0o1777);
        close_to_others(&data);
        assert_eq!((mode(&data), mode(&data.join("spool"))), (0o1777, 0o700));
    }
}
