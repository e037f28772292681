//! The secret of session tokens: from the settings, or from a file that is created when it is first needed.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret as _, SecretString};

use super::Sessions;

/// Name of the file in the data directory.
const FILE: &str = "session.key";
/// Random bytes of a created secret, written in hexadecimal.
const SECRET_BYTES: usize = 32;
/// Shortest secret, in bytes: as long as the output of SHA-256 (RFC 7518, 3.2).
const SECRET_BYTES_MIN: usize = 32;
/// The permission bits of users other than the owner.
const OTHERS: u32 = 0o077;

/// Why no secret can be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretFault {
    /// A secret that can be guessed.
    #[error("the secret of session tokens must be at least {SECRET_BYTES_MIN} bytes long")]
    TooShort,
    /// A secret that other users can read.
    #[error("{0} can be read by others: make it private with chmod 600")]
    Exposed(PathBuf),
    /// The file cannot be read or written.
    #[error("cannot use {0}")]
    File(PathBuf, #[source] io::Error),
}

impl Sessions {
    /// Uses a secret from the settings.
    pub fn from_secret(secret: &SecretString) -> Result<Self, SecretFault> {
        if secret.expose_secret().len() < SECRET_BYTES_MIN {
            return Err(SecretFault::TooShort);
        }
        Ok(Self::with_secret(secret))
    }

    /// Uses the secret in the data directory, which is created if it does not exist. Processes that do this at the
    /// same time get the same secret.
    pub fn from_data_dir(directory: &Path) -> Result<Self, SecretFault> {
        let path = directory.join(FILE);
        let fault = |cause| SecretFault::File(path.clone(), cause);
        if !path.try_exists().map_err(fault)? {
            make(directory, &path).map_err(fault)?;
        }
        let mode = fs::metadata(&path).map_err(fault)?.permissions().mode();
        if mode & OTHERS != 0 {
            return Err(SecretFault::Exposed(path));
        }
        let text = SecretString::from(fs::read_to_string(&path).map_err(fault)?);
        Self::from_secret(&SecretString::from(text.expose_secret().trim()))
    }
}

/// Creates the file with its whole content at once; an existing file stays.
fn make(directory: &Path, path: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    writeln!(file, "{}", hex::encode(rand::random::<[u8; SECRET_BYTES]>()))?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(lost) if lost.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(fault) => Err(fault.error),
        Ok(_) => fs::File::open(directory)?.sync_all(),
    }
}
