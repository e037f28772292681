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
/// Files beside the folders.
const FILES: [&str; 2] = ["clickhouse.url", "millrace.lock"];

/// Takes the rights of other users away from the data directory and from what Millrace keeps in it. Other
/// files stay as they are, and so does a folder that is shared by design or that belongs to another user:
/// then a log line says so, and the folders in it are closed all the same.
pub(super) fn close_to_others(data: &Path) {
    close(data);
    for name in FILES {
        close(&data.join(name));
    }
    for name in FOLDERS {
        let folder = data.join(name);
        close(&folder);
        for_each_in(&folder, Metadata::is_file);
    }
    for name in ENGINES {
        let folder = data.join(name);
        close(&folder);
        // PostgreSQL refuses to start on a folder that others may enter.
        for_each_in(&folder, Metadata::is_dir);
    }
}

fn for_each_in(folder: &Path, is_meant: fn(&Metadata) -> bool) {
    // A folder that is not there has nothing to close; one that cannot be read fails where it is used.
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        // Not what a symbolic link leads to.
        if entry.metadata().is_ok_and(|found| is_meant(&found)) {
            close(&entry.path());
        }
    }
}

fn close(path: &Path) {
    let Ok(found) = fs::metadata(path) else { return };
    let mode = found.permissions().mode();
    if mode & OTHERS == 0 {
        return;
    }
    let was = format!("{:04o}", mode & 0o7777);
    if mode & STICKY != 0 {
        tracing::warn!(path = %path.display(), mode = was, "a folder shared by all users holds the data; use one of its own");
        return;
    }
    match fs::set_permissions(path, Permissions::from_mode(mode & 0o7700)) {
        Ok(()) => {
            tracing::warn!(path = %path.display(), mode = was, "other users could read this and no longer can");
        }
        // Another process has just removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            tracing::warn!(path = %path.display(), mode = was, %error, "other users can read this, and its mode cannot be changed");
        }
    }
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
