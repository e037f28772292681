//! A disk that is really full: a tmpfs of one megabyte, mounted for a process of its own.

use std::{env, fs, path::Path, process::Command};

use super::{drain, entry, options};
use crate::spool::{AppendError, Spool, SpoolOptions};

/// Names the small disk to the process that runs on it.
const SMALL_DISK: &str = "MILLRACE_TEST_SMALL_DISK";
const DISK_BYTES: u64 = 1 << 20;
const TEST: &str =
    "spool::tests::disk::a_disk_that_is_really_full_refuses_appends_and_loses_nothing";

#[test]
fn a_disk_that_is_really_full_refuses_appends_and_loses_nothing() {
    if let Some(disk) = env::var_os(SMALL_DISK) {
        return live_on(Path::new(&disk));
    }
    let folder = tempfile::tempdir().unwrap();
    // Root may mount at once, others in a user namespace of their own, where the system lets them.
    let Some(rights) = [&["--mount"][..], &["--mount", "--map-root-user"]]
        .into_iter()
        .find(|rights| in_namespace(rights, folder.path(), "true"))
    else {
        eprintln!("not tested: this system forbids mounting a tmpfs in a namespace");
        return;
    };
    let this = env::current_exe().unwrap();
    let run = format!("'{}' --exact {TEST} --nocapture", this.display());
    assert!(in_namespace(rights, folder.path(), &run), "it failed on the small disk, see above");
}

/// Whether a command succeeds where `folder` is a tmpfs of [`DISK_BYTES`].
fn in_namespace(rights: &[&str], folder: &Path, command: &str) -> bool {
    let script = format!(
        "mount -t tmpfs -o size={DISK_BYTES} none '{}' 2>/dev/null && exec {command}",
        folder.display()
    );
    let ended = Command::new("unshare")
        .args(rights)
        .args(["sh", "-c", &script])
        .env(SMALL_DISK, folder)
        .status();
    // A machine without the program cannot give a namespace either.
    ended.is_ok_and(|ended| ended.success())
}

fn spool_options(dir: &Path) -> SpoolOptions {
    // The budget is larger than the disk: the disk is what says no.
    SpoolOptions { segment_bytes: 64 << 10, limit_bytes: 64 << 20, ..options(dir) }
}

fn live_on(disk: &Path) {
    let dir = disk.join("spool");
    fs::create_dir(&dir).unwrap();
    let (spool, _) = Spool::open(spool_options(&dir)).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    let mut acknowledged = Vec::new();
    let refused = (0..).find_map(|number| {
        assert!(number < DISK_BYTES / 1000, "more was acknowledged than the disk holds");
        match spool.append_blocking(entry(number, 2000)) {
            Ok(_) => {
                acknowledged.push(number);
                None
            }
            Err(error) => Some(error),
        }
    });
    assert!(matches!(refused, Some(AppendError::Full { .. })), "{refused:?}");
    assert!(acknowledged.len() > 100, "only {} entries fitted", acknowledged.len());
    drop((spool, consumer));

    // A start on the full disk works and delivers all of it, once and in order.
    let (spool, _) = Spool::open(spool_options(&dir)).unwrap();
    consumer = spool.consumer("clickhouse").unwrap();
    let mut delivered = Vec::new();
    let mut end = None;
    while let Ok(Some(frame)) = consumer.receive(std::time::Duration::ZERO) {
        delivered.push(super::number(&frame));
        end = Some(frame.end());
    }
    assert_eq!(delivered, acknowledged);
    assert!(
        matches!(spool.append_blocking(entry(9000, 2000)), Err(AppendError::Full { .. })),
        "still full"
    );
    // What was delivered makes room, on the full disk too.
    consumer.cursor().commit(end.unwrap()).unwrap();
    let taken = (0..200).any(|_| spool.append_blocking(entry(9001, 2000)).is_ok());
    assert!(taken, "a commit frees the disk");
    assert!(drain(&mut consumer).contains(&9001));
}
