//! Restricts the data directory to its owner.

use std::{
    fs::{self, Metadata, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

/// The permissions of the group and of all others.
const OTHERS: u32 = 0o077;
/// The bit of a folder that is shared by design, such as `/tmp`.
const STICKY: u32 = 0o1000;
/// Folders of the data directory whose files are restricted one by one.
const FOLDERS: [&str; 3] = ["dead-letters", "secrets", "spool"];
/// Folders of the engines, which create their files for their own user only; the restriction of the folder
/// covers the files below.
const ENGINES: [&str; 2] = ["clickhouse", "postgres"];
/// Locked by the program that uses the directory; holds its pid.
pub(super) const LOCK_FILE: &str = "millrace.lock";
/// The address of the embedded ClickHouse, including its password.
pub(super) const CLICKHOUSE_URL_FILE: &str = "clickhouse.url";
/// Files beside the folders.
const FILES: [&str; 2] = [CLICKHOUSE_URL_FILE, LOCK_FILE];

/// Removes the permissions of other users on the data directory and Millrace's files in it. Other files stay
/// unchanged, and so does a folder that is shared by design or belongs to another user: then a warning is
/// logged, and the folders in it are restricted all the same.
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

/// The outcome for a file or folder.
enum Outcome {
    /// Restricted already, or it does not exist.
    Closed,
    /// It had these permissions, and is restricted now.
    WasOpen(u32),
    /// It stays shared, with these permissions.
    Shared(u32),
    Failed(u32, io::Error),
}

fn close(path: &Path) {
    let shown = path.display();
    match try_close(path) {
        Outcome::Closed => {}
        Outcome::WasOpen(mode) => {
            tracing::warn!(path = %shown, mode = %octal(mode), "removed the permissions of other users");
        }
        Outcome::Shared(mode) => {
            tracing::warn!(path = %shown, mode = %octal(mode), "the data directory is a folder shared by all users; use a private one");
        }
        Outcome::Failed(mode, error) => {
            tracing::warn!(path = %shown, mode = %octal(mode), %error, "other users have permissions that cannot be removed");
        }
    }
}

/// Restricts the entries of a folder, with one log line for all of them.
fn close_in(folder: &Path, is_included: fn(&Metadata) -> bool) {
    // A folder that does not exist needs nothing; one that cannot be read fails where it is used.
    let Ok(entries) = fs::read_dir(folder) else { return };
    let (mut closed, mut open) = (0_u32, 0_u32);
    for entry in entries.flatten() {
        // Symbolic links are not followed.
        if !entry.metadata().is_ok_and(|found| is_included(&found)) {
            continue;
        }
        match try_close(&entry.path()) {
            Outcome::Closed => {}
            Outcome::WasOpen(_) => closed += 1,
            Outcome::Shared(_) | Outcome::Failed(..) => open += 1,
        }
    }
    if closed + open > 0 {
        tracing::warn!(folder = %folder.display(), closed, still_open = open, "other users had permissions on entries of this folder");
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
    fn own_files_are_restricted_and_others_stay_unchanged() {
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
    fn a_shared_folder_stays_shared() {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("shared");
        fs::create_dir_all(data.join("spool")).unwrap();
        set(&data.join("spool"), 0o755);
        set(&data, 0o1777);
        close_to_others(&data);
        assert_eq!((mode(&data), mode(&data.join("spool"))), (0o1777, 0o700));
    }
}
