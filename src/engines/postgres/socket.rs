//! A short path to the folder of the socket: a Unix address holds at most 107 bytes.

use std::{
    fs::File,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use parking_lot::Mutex;

use super::super::Error;

/// `sun_path` holds 108 bytes on Linux and 104 on macOS, including the final zero.
const ADDRESS_BYTES_MAX: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// Folders that stay open for the life of the process, so that their short paths stay valid.
static HELD: OnceLock<Mutex<Vec<(PathBuf, File)>>> = OnceLock::new();

/// The folder of the socket as it fits into an address: the path itself if it is short enough, else the
/// kernel's link to a descriptor of it.
pub(super) fn address(folder: &Path, port: u16) -> Result<PathBuf, Error> {
    let socket = folder.join(format!(".s.PGSQL.{port}"));
    if socket.as_os_str().len() <= ADDRESS_BYTES_MAX {
        return Ok(folder.to_owned());
    }
    if !cfg!(target_os = "linux") {
        return Err(Error::Setting(format!(
            "the path {} is too long for a socket: set MILLRACE_DATA_DIR to a shorter one",
            folder.display()
        )));
    }
    let mut held = HELD.get_or_init(Mutex::default).lock();
    let index = if let Some(index) = held.iter().position(|(path, _)| path == folder) {
        index
    } else {
        let file = File::open(folder).map_err(Error::file("open", folder))?;
        held.push((folder.to_owned(), file));
        held.len() - 1
    };
    Ok(PathBuf::from(format!("/proc/self/fd/{}", held[index].1.as_raw_fd())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_path_is_used_unchanged() {
        let folder = Path::new("/srv/millrace/postgres");
        assert_eq!(address(folder, 5432).unwrap(), folder);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_long_path_is_replaced_by_its_descriptor() {
        use std::os::unix::net::{UnixListener, UnixStream};

        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("deep".repeat(20)).join("deeper".repeat(20));
        std::fs::create_dir_all(&folder).unwrap();
        let short = address(&folder, 5432).unwrap();
        let socket = short.join(".s.PGSQL.5432");
        assert!(socket.as_os_str().len() <= ADDRESS_BYTES_MAX);
        let _listener = UnixListener::bind(&socket).unwrap();
        UnixStream::connect(address(&folder, 5432).unwrap().join(".s.PGSQL.5432")).unwrap();
        assert!(folder.join(".s.PGSQL.5432").exists());
    }
}
