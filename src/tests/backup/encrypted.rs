//! Backups that are encrypted with a passphrase.

use std::{fs, path::Path};

use super::{backups, beside};
use crate::kit::{Workspace, data_dir, server};

const PASSPHRASE: &str = "correct horse battery staple";

fn variable(passphrase: &str) -> [(&'static str, String); 1] {
    [("MILLRACE_BACKUP_PASSPHRASE", passphrase.to_owned())]
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_backup_opens_with_its_passphrase_alone_and_has_the_master_key() {
    let workspace = Workspace::new().await;
    let data = &server().data_dir;
    let backup = backups("backup-encrypted").join("backup");
    let target = backup.to_str().unwrap();
    let short = beside(&variable("short"), data, &["backup", target]).await;
    assert_eq!(short.status, 1);
    assert!(short.stderr.contains("at least 12 bytes"), "{}", short.stderr);
    let made = beside(&variable(PASSPHRASE), data, &["backup", target]).await;
    assert_eq!(made.status, 0, "{}", made.stderr);
    assert!(!made.stderr.contains("master key is not"), "{}", made.stderr);
    let names = fs::read(backup.join("postgres/workspace.tsv.zst")).unwrap();
    let is_plain = zstd::stream::decode_all(&names[..]).is_ok();
    assert!(!is_plain, "the workspace {} can be read", workspace.name);

    let into = data_dir("backup-decrypted");
    let refused = async |variables: &[(&str, String)], what: &str| {
        let outcome = beside(variables, &into, &["restore", target]).await;
        assert_eq!(outcome.status, 1);
        assert!(outcome.stderr.contains(what), "{what}: {}", outcome.stderr);
        assert!(!into.exists(), "{what}");
    };
    refused(&[], "the backup is encrypted").await;
    refused(&variable("wrong horse battery staple"), "the passphrase does not open").await;
    let key = backup.join("key.json");
    let text = fs::read_to_string(&key).unwrap();
    flip(&key, text.find("sealedKey").unwrap() + 20);
    refused(&variable(PASSPHRASE), "damaged").await;
    fs::write(&key, &text).unwrap();

    let file = backup.with_file_name("passphrase");
    fs::write(&file, format!("{PASSPHRASE}\n")).unwrap();
    let arguments = ["restore", target, "--passphrase-file", file.to_str().unwrap()];
    let done = beside(&[], &into, &arguments).await;
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert!(!done.stderr.contains("master key"), "{}", done.stderr);
    let master = |data: &Path| fs::read_to_string(data.join("secrets/master.key")).unwrap();
    assert_eq!(master(&into), master(data));
    let listed = beside(&[], &into, &["keys", "list", "--workspace", &workspace.name]).await;
    assert_eq!((listed.status, listed.stdout.lines().count()), (0, 2), "{}", listed.stderr);
}
