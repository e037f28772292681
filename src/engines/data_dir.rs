//! The data directory: private to one user, and used by one program at a time.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use nix::{errno::Errno, sys::signal::kill, unistd::Pid};
use rand::RngCore as _;
use secrecy::SecretString;

use super::{
    Error,
    permissions::{self, CLICKHOUSE_URL_FILE, LOCK_FILE},
};

const SECRET_BYTES: usize = 32;
/// In a directory that is being restored.
const RESTORE_FILE: &str = "restore.unfinished";
/// How long a server or command waits for a short-lived command to finish.
const COMMAND_WAIT: Duration = Duration::from_mins(1);
/// Polling interval of a lock.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// The folder of a deployment.
#[derive(Debug, Clone)]
pub struct DataDir {
    path: PathBuf,
}

/// The kind of process that takes the lock: a server holds it for its life, a command briefly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Server,
    /// Any other command that runs engines for a moment.
    Command,
}

/// Exclusive use of a data directory, for as long as this lives.
#[derive(Debug)]
pub struct DataDirLock {
    _file: File,
}

impl DataDir {
    /// Opens the directory; creates it with mode 0700 if it is missing. Permissions of other users on it and
    /// its files are removed. A session secret that was readable by others is instead refused where it is
    /// used.
    pub fn open(path: &Path) -> Result<Self, Error> {
        make_private(path)?;
        let path = fs::canonicalize(path).map_err(Error::file("open", path))?;
        permissions::close_to_others(&path);
        Ok(Self { path })
    }

    /// The directory as it is: nothing is created or restricted. None if it does not exist.
    pub fn existing(path: &Path) -> Result<Option<Self>, Error> {
        match fs::canonicalize(path) {
            Ok(path) => Ok(Some(Self { path })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("open", path)(error)),
        }
    }

    /// The process number of the server that has the directory.
    pub fn server_pid(&self) -> Result<Option<u32>, Error> {
        let path = self.path.join(LOCK_FILE);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("open", &path)(error)),
        };
        // Shared and for a moment: a server that starts meanwhile tries again.
        match file.try_lock_shared() {
            Ok(()) => return Ok(None),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(reason)) => return Err(Error::file("lock", &path)(reason)),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(Error::file("read", &path))?;
        Ok(match held(&text) {
            Attempt::Held { by: Some(Holder::Server), pid } => Some(pid),
            _ => None,
        })
    }

    /// A secret of this directory, if it was generated before.
    pub fn existing_secret(&self, name: &str) -> Result<Option<SecretString>, Error> {
        let path = self.path.join("secrets").join(name);
        match fs::read_to_string(&path) {
            Ok(text) if text.trim().len() == SECRET_BYTES * 2 => {
                Ok(Some(text.trim().to_owned().into()))
            }
            Ok(_) => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("read", &path)(error)),
        }
    }

    /// The directory, absolute and without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of secrets.
    pub fn secrets(&self) -> PathBuf {
        self.path.join("secrets")
    }

    /// Marks the directory as one that is being restored, and locks it: until [`Self::end_restore`] nothing else starts
    /// on it, also after this process was killed.
    pub async fn begin_restore(&self) -> Result<DataDirLock, Error> {
        let lock = self.lock_for_command().await?;
        let lock = lock.ok_or_else(|| Error::Busy { dir: self.path.clone(), pid: 0 })?;
        write_private(&self.path.join(RESTORE_FILE), "")?;
        sync_folder(&self.path)?;
        Ok(lock)
    }

    /// Removes the mark of a restore, once everything is in place.
    pub fn end_restore(&self) -> Result<(), Error> {
        let path = self.path.join(RESTORE_FILE);
        fs::remove_file(&path).map_err(Error::file("remove", &path))?;
        sync_folder(&self.path)
    }

    fn refuse_half_restored(&self) -> Result<(), Error> {
        let path = self.path.join(RESTORE_FILE);
        if !path.try_exists().map_err(Error::file("read", &path))? {
            return Ok(());
        }
        Err(Error::Setting(format!(
            "a restore into {} did not end: empty the folder, and external stores, and run it again",
            self.path.display()
        )))
    }

    /// The folder of the spool.
    pub fn spool(&self) -> PathBuf {
        self.path.join("spool")
    }

    /// The folder of the keys of stored events, by which repeats are recognised.
    pub fn landed_keys(&self) -> PathBuf {
        self.path.join("landed-keys")
    }

    /// The folder of rows that ClickHouse refused.
    pub fn dead_letters(&self) -> PathBuf {
        self.path.join("dead-letters")
    }

    /// Locks the directory for a server; waits for a short-lived command, refuses a second server.
    pub async fn lock(&self) -> Result<DataDirLock, Error> {
        self.refuse_half_restored()?;
        let deadline = Instant::now() + COMMAND_WAIT;
        loop {
            match self.try_lock(Holder::Server)? {
                Attempt::Taken(lock) => return Ok(lock),
                Attempt::Held { by: Some(Holder::Server), pid } => {
                    return Err(Error::Busy { dir: self.path.clone(), pid });
                }
                Attempt::Held { pid, .. } if Instant::now() >= deadline => {
                    return Err(Error::Busy { dir: self.path.clone(), pid });
                }
                Attempt::Held { .. } => tokio::time::sleep(LOCK_POLL).await,
            }
        }
    }

    /// Locks the directory for a command; none if a server holds it. Commands wait for one another.
    pub async fn lock_for_command(&self) -> Result<Option<DataDirLock>, Error> {
        self.refuse_half_restored()?;
        let deadline = Instant::now() + COMMAND_WAIT;
        loop {
            match self.try_lock(Holder::Command)? {
                Attempt::Taken(lock) => return Ok(Some(lock)),
                Attempt::Held { by: Some(Holder::Server), .. } => return Ok(None),
                Attempt::Held { pid, .. } if Instant::now() >= deadline => {
                    return Err(Error::Busy { dir: self.path.clone(), pid });
                }
                Attempt::Held { .. } => tokio::time::sleep(LOCK_POLL).await,
            }
        }
    }

    fn try_lock(&self, holder: Holder) -> Result<Attempt, Error> {
        let path = self.path.join(LOCK_FILE);
        let mut file = private_file(&path).map_err(Error::file("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                file.read_to_string(&mut text).map_err(Error::file("read", &path))?;
                return Ok(held(&text));
            }
            Err(TryLockError::Error(reason)) => return Err(Error::file("lock", &path)(reason)),
        }
        // A killed server leaves its address, and its port may belong to another program now. It is removed
        // before this holder is visible, so that no command sends the password there.
        self.withdraw_address()?;
        let word = match holder {
            Holder::Server => "server",
            Holder::Command => "command",
        };
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{} {word}", std::process::id()))
            .map_err(Error::file("write", &path))?;
        Ok(Attempt::Taken(DataDirLock { _file: file }))
    }

    fn withdraw_address(&self) -> Result<(), Error> {
        let path = self.path.join(CLICKHOUSE_URL_FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::file("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// A secret of this directory: 32 random bytes as hex, generated on first use.
    pub fn secret(&self, name: &str) -> Result<SecretString, Error> {
        let folder = self.secrets();
        make_private(&folder)?;
        let path = folder.join(name);
        match fs::read_to_string(&path) {
            Ok(text) if text.trim().len() == SECRET_BYTES * 2 => {
                return Ok(text.trim().to_owned().into());
            }
            Ok(_) => {} // an incomplete write of a first start: that secret was never used
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::file("read", &path)(error)),
        }
        let mut bytes = [0; SECRET_BYTES];
        rand::rng().fill_bytes(&mut bytes);
        let text = hex::encode(bytes);
        write_private(&path, &text)?;
        Ok(text.into())
    }
}

/// The outcome of a try to lock.
enum Attempt {
    Taken(DataDirLock),
    Held { by: Option<Holder>, pid: u32 },
}

/// Reads `<pid> <holder>`; unknown if a new holder has not written it yet.
fn held(text: &str) -> Attempt {
    let mut words = text.split_whitespace();
    let pid = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let by = match words.next() {
        Some("server") if is_alive(pid) => Some(Holder::Server),
        Some("command") if is_alive(pid) => Some(Holder::Command),
        _ => None,
    };
    Attempt::Held { by, pid }
}

fn is_alive(pid: u32) -> bool {
    // Another user's process may not be signalled, but exists.
    i32::try_from(pid).is_ok_and(|pid| kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH))
}

/// Creates a folder and its parents for this user only; leaves an existing one unchanged.
pub(super) fn make_private(path: &Path) -> Result<(), Error> {
    ingest::spool::create_private_dir(path).map_err(Error::file("create the folder", path))
}

fn sync_folder(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(Error::file("sync", path))
}

/// Opens a file that only this user may read; creates it if it is missing.
pub(super) fn private_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Writes a whole file atomically, readable by this user only.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?; // mode 0600
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(Error::file("write", path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use secrecy::ExposeSecret as _;

    use super::*;

    fn open() -> (DataDir, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (DataDir::open(&folder.path().join("a/data")).unwrap(), folder)
    }

    #[tokio::test]
    async fn a_second_server_is_refused_with_the_directory_and_the_pid() {
        let (dir, _folder) = open();
        let lock = dir.lock().await.unwrap();
        let refusal = dir.lock().await.unwrap_err().to_string();
        assert!(refusal.contains(&dir.path().display().to_string()), "{refusal}");
        assert!(refusal.contains(&format!("pid {}", std::process::id())), "{refusal}");
        drop(lock);
        dir.lock().await.unwrap();
    }

    #[tokio::test]
    async fn a_command_yields_to_a_server_and_a_server_waits_for_a_command() {
        let (dir, _folder) = open();
        let server = dir.lock().await.unwrap();
        assert!(dir.lock_for_command().await.unwrap().is_none());
        drop(server);
        let command = dir.lock_for_command().await.unwrap().unwrap();
        let (second, ()) = tokio::join!(dir.lock(), async {
            tokio::task::yield_now().await;
            drop(command);
        });
        second.unwrap();
    }

    #[tokio::test]
    async fn a_directory_can_be_examined_without_changing_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        assert!(DataDir::existing(&path).unwrap().is_none() && !path.exists());
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let dir = DataDir::existing(&path).unwrap().unwrap();
        assert_eq!(dir.server_pid().unwrap(), None);
        assert!(dir.existing_secret("master.key").unwrap().is_none());
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "nothing was created");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        let lock = dir.lock().await.unwrap();
        assert_eq!(dir.server_pid().unwrap(), Some(std::process::id()));
        drop(lock);
        assert_eq!(dir.server_pid().unwrap(), None, "a stopped server leaves its file");
        let command = dir.lock_for_command().await.unwrap();
        assert_eq!(dir.server_pid().unwrap(), None, "a command is no server");
        drop(command);
        let secret = dir.secret("master.key").unwrap();
        let found = dir.existing_secret("master.key").unwrap().unwrap();
        assert_eq!(found.expose_secret(), secret.expose_secret());
    }

    #[tokio::test]
    async fn nothing_starts_on_a_directory_that_is_half_restored() {
        let (dir, _folder) = open();
        drop(dir.begin_restore().await.unwrap());
        for refusal in [dir.lock().await.unwrap_err(), dir.lock_for_command().await.unwrap_err()] {
            assert!(refusal.to_string().contains("did not end"), "{refusal}");
        }
        dir.end_restore().unwrap();
        dir.lock().await.unwrap();
    }

    #[test]
    fn a_secret_is_generated_once_and_readable_by_its_owner_only() {
        let (dir, _folder) = open();
        let first = dir.secret("clickhouse").unwrap();
        let again = dir.secret("clickhouse").unwrap();
        assert_eq!(first.expose_secret(), again.expose_secret());
        assert_eq!(first.expose_secret().len(), 64);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&dir.path().join("secrets/clickhouse")), 0o600);
        assert_eq!(mode(dir.path()), 0o700);
    }

    #[tokio::test]
    async fn a_stale_address_is_removed_before_the_next_holder_is_visible() {
        let (dir, _folder) = open();
        let address = dir.path().join(CLICKHOUSE_URL_FILE);
        // The state after a killed server: no process has this pid.
        fs::write(dir.path().join(LOCK_FILE), format!("{} server", i32::MAX)).unwrap();
        fs::write(&address, "http://millrace:secret@127.0.0.1:1/millrace").unwrap();
        let file = private_file(&dir.path().join(LOCK_FILE)).unwrap();
        file.try_lock().unwrap();
        let met = dir.try_lock(Holder::Command).unwrap();
        assert!(matches!(met, Attempt::Held { by: None, .. }), "the holder has not written yet");
        drop(file);
        let server = dir.lock().await.unwrap();
        assert!(!address.exists());
        assert!(dir.lock_for_command().await.unwrap().is_none());
        drop(server);
    }
}
