//! `[backup]`: what backups hold.

use serde::Deserialize;

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// Whether secrets of the data directory are in a backup.
    pub secrets: BackupSecrets,
}

/// Which backups hold the secrets of the data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackupSecrets {
    Never,
    /// Those with a passphrase.
    Encrypted,
    Always,
}
