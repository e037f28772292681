//! A copy of the spool's files while it is in use.

use std::{fs, path::Path};

use super::{PATIENCE, drain, entry, number, options};
use crate::spool::{CopyError, HeldSpool, Spool};

fn segments(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).unwrap();
    let is_segment = |name: String| name.len() == 24 && name.starts_with("0000");
    entries.filter(|it| is_segment(it.as_ref().unwrap().file_name().into_string().unwrap())).count()
}

fn finish(held: &HeldSpool, to: &Path) {
    for file in held.small_files() {
        fs::write(to.join(&file.name), &file.content).unwrap();
    }
    for segment in held.segments().unwrap() {
        fs::copy(&segment, to.join(segment.file_name().unwrap())).unwrap();
    }
}

#[test]
fn what_was_not_processed_at_the_beginning_and_what_came_meanwhile_is_in_the_copy() {
    let (dir, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (spool, _) = Spool::open(options(dir.path())).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    for number in 0..200 {
        spool.append_blocking(entry(number, 100)).unwrap();
    }
    let frame = (0..150).map(|_| consumer.receive(PATIENCE).unwrap().unwrap()).last().unwrap();
    consumer.cursor().commit(frame.end()).unwrap();
    let held = HeldSpool::begin(dir.path()).unwrap().unwrap();
    let before = segments(dir.path());
    for number in 200..400 {
        spool.append_blocking(entry(number, 100)).unwrap();
    }
    let frame = (0..250).map(|_| consumer.receive(PATIENCE).unwrap().unwrap()).last().unwrap();
    consumer.cursor().commit(frame.end()).unwrap();
    assert!(segments(dir.path()) > before, "nothing is freed meanwhile");
    finish(&held, to.path());
    let while_held = segments(dir.path());
    drop(held);
    spool.append_blocking(entry(400, 100)).unwrap();
    let frame = consumer.receive(PATIENCE).unwrap().unwrap();
    assert_eq!(number(&frame), 400);
    consumer.cursor().commit(frame.end()).unwrap();
    assert!(segments(dir.path()) < while_held, "it is freed afterwards");
    drop((spool, consumer));

    let (copy, recovery) = Spool::open(options(to.path())).unwrap();
    assert_eq!((recovery.head.get(), recovery.cursors_reset.len()), (400, 0));
    let mut consumer = copy.consumer("clickhouse").unwrap();
    assert_eq!(drain(&mut consumer), (150..400).collect::<Vec<_>>());
}

#[test]
fn events_matter_more_than_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(options(dir.path())).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    let held = HeldSpool::begin(dir.path()).unwrap().unwrap();
    // More than half of what the spool may take.
    for number in 0..1500 {
        spool.append_blocking(entry(number, 100)).unwrap();
        let frame = consumer.receive(PATIENCE).unwrap().unwrap();
        consumer.cursor().commit(frame.end()).unwrap();
    }
    assert!(segments(dir.path()) <= 34, "{}", segments(dir.path()));
    assert!(matches!(held.segments(), Err(CopyError::Freed)));
}

#[test]
fn a_folder_without_a_spool_has_none() {
    let dir = tempfile::tempdir().unwrap();
    assert!(HeldSpool::begin(dir.path()).unwrap().is_none());
    let (spool, _) = Spool::open(options(dir.path())).unwrap();
    spool.register("clickhouse").unwrap();
    fs::write(dir.path().join("clickhouse.cursor"), "damaged").unwrap();
    assert!(matches!(HeldSpool::begin(dir.path()), Err(CopyError::Damaged { .. })));
}
