//! The files of a PostgreSQL cluster: ownership, creation, access.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::{MetadataExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::unistd::Uid;

use super::{
    super::{Error, account::Account, data_dir::make_private},
    USER,
};

/// The folder that `initdb` works in; renamed when it is complete.
const UNFINISHED: &str = "initdb.unfinished";
/// Since this version PostgreSQL has a built-in UTF-8 locale.
const MAJOR_WITH_BUILTIN_LOCALE: u32 = 17;

/// Written into a new cluster's `postgresql.conf`, where an operator may change it.
const CONFIGURATION: &str = "
# Millrace: one program on this machine, many short transactions.
jit = off
max_parallel_workers_per_gather = 0
# Arrays of profiles lock each address they bring; this is room for sixteen thousand-fold ones at once.
max_locks_per_transaction = 256
idle_in_transaction_session_timeout = '60s'
timezone = 'UTC'
log_timezone = 'UTC'
# Neither statements nor values go to the log; a statement's error goes to its client.
log_min_messages = log
log_min_error_statement = panic
log_error_verbosity = terse
log_checkpoints = off
log_line_prefix = ''
";

/// Only the local account may connect, as the only database user, and only by the socket.
const ACCESS: &str = "local all millrace peer map=millrace\n";

/// Identifies the server of a folder by its command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark(String);

impl Mark {
    /// The folder's device and inode, which a moved folder keeps.
    pub(super) fn of(folder: &Path) -> Result<Self, Error> {
        let found = fs::metadata(folder).map_err(Error::file("read", folder))?;
        Ok(Self(format!("millrace-{:x}-{:x}", found.dev(), found.ino())))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// Creates the folder if it is missing, and gives a folder of root to the account.
pub(super) fn give_to(folder: &Path, account: &Account) -> Result<(), Error> {
    make_private(folder)?;
    let owner = fs::metadata(folder).map_err(Error::file("read", folder))?.uid();
    if Uid::effective().is_root() && owner == 0 {
        chown(folder, Some(account.uid.as_raw()), Some(account.gid.as_raw()))
            .map_err(Error::file("change the owner of", folder))?;
    }
    Ok(())
}

/// The cluster in `folder`, created if there is none. Runs as its owner.
pub(super) fn make(folder: &Path, programs: &Path, major: u32) -> anyhow::Result<PathBuf> {
    let cluster = folder.join(major.to_string());
    if cluster.join("PG_VERSION").is_file() {
        return Ok(cluster);
    }
    let unfinished = folder.join(UNFINISHED);
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    let mut initdb = Command::new(programs.join("initdb"));
    initdb
        .arg("--pgdata")
        .arg(&unfinished)
        .args(["--username", USER, "--encoding=UTF8", "--data-checksums", "--no-instructions"])
        .args(["--auth-local=peer", "--auth-host=reject"]);
    if major >= MAJOR_WITH_BUILTIN_LOCALE {
        initdb.args(["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]);
    } else {
        initdb.arg("--locale=C.UTF-8");
    }
    let output = initdb.stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        anyhow::bail!("initdb failed: {}", errors.lines().collect::<Vec<_>>().join("; "));
    }
    let mut file = OpenOptions::new().append(true).open(unfinished.join("postgresql.conf"))?;
    file.write_all(CONFIGURATION.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, &cluster)?;
    fs::File::open(folder)?.sync_all()?;
    Ok(cluster)
}

/// The major version of the newest cluster in `folder`.
pub(super) fn made_by(folder: &Path) -> std::io::Result<Option<u32>> {
    let mut found = None;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let major = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if major.is_some() && entry.path().join("PG_VERSION").is_file() {
            found = found.max(major);
        }
    }
    Ok(found)
}

/// Writes who may connect: the account that runs the server, and root, which could read the files anyway.
pub(super) fn write_access(cluster: &Path, account: &str) -> std::io::Result<()> {
    let mut names = String::new();
    for name in [account, "root"] {
        let quoted = name.replace('"', "\"\"");
        names += &["millrace \"", &quoted, "\" ", USER, "\n"].concat();
    }
    fs::write(cluster.join("pg_ident.conf"), names)?;
    fs::write(cluster.join("pg_hba.conf"), ACCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_complete_cluster_determines_the_version() {
        let folder = tempfile::tempdir().unwrap();
        let add = |name: &str, whole: bool| {
            fs::create_dir(folder.path().join(name)).unwrap();
            if whole {
                fs::write(folder.path().join(name).join("PG_VERSION"), name).unwrap();
            }
        };
        assert_eq!(made_by(folder.path()).unwrap(), None);
        add(UNFINISHED, true);
        add("19", false);
        assert_eq!(made_by(folder.path()).unwrap(), None, "initdb had not finished");
        add("15", true);
        assert_eq!(made_by(folder.path()).unwrap(), Some(15));
        add("18", true);
        assert_eq!(made_by(folder.path()).unwrap(), Some(18));
    }

    #[test]
    fn account_names_cannot_inject_lines() {
        let cluster = tempfile::tempdir().unwrap();
        write_access(cluster.path(), "a\"b").unwrap();
        let names = fs::read_to_string(cluster.path().join("pg_ident.conf")).unwrap();
        assert_eq!(names, "millrace \"a\"\"b\" millrace\nmillrace \"root\" millrace\n");
        let access = fs::read_to_string(cluster.path().join("pg_hba.conf")).unwrap();
        assert_eq!(access.lines().count(), 1, "only the socket accepts connections");
    }
}
