//! Targets and backups that are not as they should be: an error that names them, and nothing that looks whole.

use std::{fs, path::Path};

use super::{back_up, backups, restore};
use crate::{
    engines::command::millrace,
    kit::{data_dir, server},
};

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn targets_that_cannot_be_written_leave_nothing_behind() {
    let (data, folder) = (&server().data_dir, backups("backup-targets"));
    let taken = folder.join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("file"), "mine").unwrap();
    let refused = back_up(data, &taken).await;
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("taken is not empty"), "{}", refused.stderr);
    assert_eq!(fs::read(taken.join("file")).unwrap(), b"mine");

    let missing = back_up(data, &folder.join("no/such/parent")).await;
    assert_eq!(missing.status, 1);
    assert!(missing.stderr.contains("cannot make"), "{}", missing.stderr);
    assert!(!folder.join("no").exists());

    fs::create_dir(folder.join("killed.partial")).unwrap();
    let refused = back_up(data, &folder.join("killed")).await;
    assert!(refused.stderr.contains("is there already"), "{}", refused.stderr);
    assert!(!folder.join("killed").exists());
    full_disk(data, &folder).await;
}

/// A target on a file system of half a megabyte.
async fn full_disk(data: &Path, folder: &Path) {
    let small = folder.join("small");
    fs::create_dir(&small).unwrap();
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(&small)
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: file systems cannot be mounted here");
        return;
    }
    let full = back_up(data, &small.join("backup")).await;
    let left: Vec<_> = fs::read_dir(&small).unwrap().collect();
    let unmounted = std::process::Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(full.status, 1);
    assert!(full.stderr.contains("No space left"), "{}", full.stderr);
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_backups_are_refused_before_anything_is_made() {
    let (data, folder) = (&server().data_dir, backups("backup-damaged"));
    let backup = folder.join("backup");
    let made = back_up(data, &backup).await;
    assert_eq!(made.status, 0, "{}", made.stderr);
    let into = data_dir("backup-refused");
    let refused = async |what: &str| {
        let outcome = restore(&into, &backup).await;
        assert_eq!(outcome.status, 1);
        assert!(outcome.stderr.contains(what), "{what}: {}", outcome.stderr);
        assert!(!into.exists(), "{what}");
    };
    let (manifest, events) =
        (backup.join("manifest.json"), backup.join("clickhouse/events.tsv.zst"));
    for at in [0, 40, 200] {
        flip(&manifest, at);
        refused("manifest.json is damaged").await;
        flip(&manifest, at);
    }
    let length = fs::metadata(&events).unwrap().len() as usize;
    for at in [0, length / 2, length - 1] {
        flip(&events, at);
        refused("events.tsv.zst is damaged").await;
        flip(&events, at);
    }
    fs::rename(&events, folder.join("events")).unwrap();
    refused("cannot read").await;
    fs::rename(folder.join("events"), &events).unwrap();
    let text = fs::read_to_string(&manifest).unwrap();
    rewrite(&backup, &text.replacen("\"postgres\": \"", "\"postgres\": \"9", 1));
    refused("restore it with the release that made it").await;
    rewrite(&backup, &text.replacen("\"format\": 1", "\"format\": 7", 1));
    refused("has format 7").await;
    fs::remove_file(&manifest).unwrap();
    refused("is no backup").await;
    rewrite(&backup, &text);
    let over = restore(data, &backup).await;
    assert_eq!(over.status, 1);
    assert!(over.stderr.contains("is not empty"), "{}", over.stderr);
    killed_half_way(&backup).await;
}

/// Writes another manifest, with its checksum.
fn rewrite(backup: &Path, text: &str) {
    use sha2::Digest as _;
    fs::write(backup.join("manifest.json"), text).unwrap();
    let sum = hex::encode(sha2::Sha256::digest(text));
    fs::write(backup.join("manifest.json.sha256"), format!("{sum}  manifest.json\n")).unwrap();
}

/// A restore that is killed leaves a folder on which nothing starts.
async fn killed_half_way(backup: &Path) {
    let into = data_dir("backup-killed");
    let mut child = tokio::process::Command::new(crate::kit::MILLRACE)
        .args(["restore", backup.to_str().unwrap()])
        .env("MILLRACE_DATA_DIR", &into)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    crate::kit::eventually("it has begun", || async {
        into.join("restore.unfinished").exists().then_some(())
    })
    .await;
    child.kill().await.unwrap();
    let refused = millrace(&into, &["keys", "list", "--workspace", "demo"]).await;
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("did not end"), "{}", refused.stderr);
    let again = restore(&into, backup).await;
    assert!(again.stderr.contains("is not empty"), "{}", again.stderr);
}
