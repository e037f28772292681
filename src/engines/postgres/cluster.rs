//! The files of a PostgreSQL cluster: whose they are, how they are made, who may connect.

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

/// Where `initdb` works; renamed to the cluster's name when it is whole.
const UNFINISHED: &str = "initdb.unfinished";
/// From this version on PostgreSQL has a UTF-8 locale of its own.
const MAJOR_WITH_BUILTIN_LOCALE: u32 = 17;

/// Put into a new cluster's `postgresql.conf`, where an operator may change it.
const CONFIGURATION: &str = "
# Millrace: one program on this machine, many short transactions.
jit = off
max_parallel_workers_per_gather = 0
# Arrays of profiles lock each address they bring; this is room for sixteen thousand-fold ones at once.
max_locks_per_transaction = 256
idle_in_transaction_session_timeout = '60s'
timezone = 'UTC'
log_timezone = 'UTC'
# Neither statements nor values go to the log; a statement's error is told to whoever sent it.
log_min_messages = log
log_min_error_statement = panic
log_error_verbosity = terse
log_checkpoints = off
log_line_prefix = ''
";

/// The local user may connect as the one database user; nobody else may, from nowhere.
const ACCESS: &str = "local all millrace peer map=millrace\n";

/// Tells the server of one folder from every other process of the machine, in its command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark(String);

impl Mark {
    /// The mark of a folder: its device and inode, which a moved folder keeps.
    pub(super) fn of(folder: &Path) -> Result<Self, Error> {
        let found = fs::metadata(folder).map_err(Error::file("read", folder))?;
        Ok(Self(format!("millrace-{:x}-{:x}", found.dev(), found.ino())))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// Makes the folder when it is missing, and gives root's to the account.
pub(super) fn hand_over(folder: &Path, account: &Account) -> Result<(), Error> {
    make_private(folder)?;
    let owner = fs::metadata(folder).map_err(Error::file("read", folder))?.uid();
    if Uid::effective().is_root() && owner == 0 {
        chown(folder, Some(account.uid.as_raw()), Some(account.gid.as_raw()))
            .map_err(Error::file("change the owner of", folder))?;
    }
    Ok(())
}

/// The cluster in `folder`, made first when there is none. Runs as its owner.
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
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::bail!("initdb failed: {}", said.lines().collect::<Vec<_>>().join("; "));
    }
    let mut file = OpenOptions::new().append(true).open(unfinished.join("postgresql.conf"))?;
    file.write_all(CONFIGURATION.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, &cluster)?;
    fs::File::open(folder)?.sync_all()?;
    Ok(cluster)
}

/// The major version that made the newest cluster in `folder`.
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

/// Writes who may connect: the account that runs the server, and root, who may read its files anyway.
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
    fn the_newest_finished_cluster_says_who_made_the_files() {
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
    fn names_with_quotes_cannot_add_a_line_of_their_own() {
        let cluster = tempfile::tempdir().unwrap();
        write_access(cluster.path(), "a\"b").unwrap();
        let names = fs::read_to_string(cluster.path().join("pg_ident.conf")).unwrap();
        assert_eq!(names, "millrace \"a\"\"b\" millrace\nmillrace \"root\" millrace\n");
        let access = fs::read_to_string(cluster.path().join("pg_hba.conf")).unwrap();
        assert_eq!(access.lines().count(), 1, "nobody connects but by the socket");
    }
}
