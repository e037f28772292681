//! The account that runs PostgreSQL: PostgreSQL refuses to run as root.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

use nix::unistd::{Gid, Uid, User};

use super::Error;

/// Accounts that may run PostgreSQL when Millrace runs as root, in order of preference.
const CANDIDATES: [&str; 3] = ["millrace", "postgres", "nobody"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) uid: Uid,
    pub(super) gid: Gid,
}

impl Account {
    fn of(user: User) -> Self {
        Self { name: user.name, uid: user.uid, gid: user.gid }
    }

    /// The account of this process. PostgreSQL requires it to have a name.
    fn of_process() -> Result<Self, Error> {
        let uid = Uid::effective();
        match User::from_uid(uid) {
            Ok(Some(user)) => Ok(Self::of(user)),
            _ => Err(Error::Setting(format!(
                "user {uid} has no name on this machine, which PostgreSQL needs: add it to /etc/passwd, or set DATABASE_URL"
            ))),
        }
    }

    fn named(name: &str) -> Option<Self> {
        User::from_name(name).ok().flatten().map(Self::of)
    }

    /// Whether this account may read or execute `path`.
    pub(super) fn can_access(&self, path: &Path) -> bool {
        let Ok(path) = fs::canonicalize(path) else { return false };
        path.ancestors().all(|step| {
            fs::metadata(step).is_ok_and(|found| {
                let bits = found.permissions().mode();
                let class = if found.uid() == self.uid.as_raw() {
                    bits >> 6
                } else if found.gid() == self.gid.as_raw() {
                    bits >> 3
                } else {
                    bits
                };
                class & if found.is_dir() { 0o1 } else { 0o4 } != 0
            })
        })
    }
}

/// Selects the account that runs the cluster in `folder`: this process's user; for root the owner of existing
/// files, else the configured account, else the first of [`CANDIDATES`] that exists.
pub(super) fn choose(folder: &Path, setting: Option<&str>) -> Result<Account, Error> {
    if !Uid::effective().is_root() {
        return Account::of_process();
    }
    let owner = fs::metadata(folder).ok().map(|found| Uid::from_raw(found.uid()));
    if let Some(owner) = owner.filter(|owner| !owner.is_root()) {
        return User::from_uid(owner).ok().flatten().map(Account::of).ok_or_else(|| {
            Error::Setting(format!(
                "the files in {} belong to user {owner}, who does not exist on this machine: give them to another user with chown",
                folder.display()
            ))
        });
    }
    if let Some(name) = setting {
        return Account::named(name).filter(|account| !account.uid.is_root()).ok_or_else(|| {
            Error::Setting(format!(
                "engines.postgres_user: no unprivileged user {name} on this machine"
            ))
        });
    }
    CANDIDATES.into_iter().find_map(Account::named).ok_or_else(|| {
        Error::Setting(
            "PostgreSQL does not run as root and no user to run it was found: set engines.postgres_user, or DATABASE_URL"
                .to_owned(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_requires_permission_on_every_parent_folder() {
        let scratch = tempfile::tempdir_in("/tmp").unwrap();
        let file = scratch.path().join("a/program");
        fs::create_dir(scratch.path().join("a")).unwrap();
        fs::write(&file, "").unwrap();
        let set = |path: &Path, bits| {
            fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
        };
        let owner = fs::metadata(&file).unwrap();
        let account = |uid: u32, gid: u32| Account {
            name: String::new(),
            uid: Uid::from_raw(uid),
            gid: Gid::from_raw(gid),
        };
        let stranger = account(owner.uid() + 1, owner.gid() + 1);
        let colleague = account(owner.uid() + 1, owner.gid());
        set(&file, 0o755);
        set(&scratch.path().join("a"), 0o750);
        set(scratch.path(), 0o755);
        assert!(!stranger.can_access(&file), "a closed folder in between");
        assert!(colleague.can_access(&file), "open to the group");
        set(&scratch.path().join("a"), 0o711);
        assert!(stranger.can_access(&file), "a folder that can be entered need not be listed");
        set(&file, 0o600);
        assert!(!stranger.can_access(&file), "the file itself");
        assert!(account(owner.uid(), 0).can_access(&file));
        assert!(!stranger.can_access(&scratch.path().join("absent")));
    }
}
