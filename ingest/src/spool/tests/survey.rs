//! What an operator sees in the files of a spool, with and without its process.

use super::*;
use crate::spool::{Backlog, Spool, survey};

/// Names and contents of a folder's files.
fn contents(dir: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let mut found: Vec<_> =
        entries.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect();
    found.sort();
    found
}

#[test]
fn a_survey_shows_the_oldest_unread_frame_of_each_consumer_and_changes_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("spool");
    assert_eq!(survey(&dir).unwrap(), None, "no spool");
    assert!(!dir.exists(), "none was made");
    let (spool, _) = Spool::open(options(&dir)).unwrap();
    let mut ahead = spool.consumer("ahead").unwrap();
    let behind = spool.consumer("behind").unwrap();
    for number in 0..20 {
        let sent = Entry { at_ms: 1000 + number, ..entry(number, 300) };
        spool.append_blocking(sent).unwrap();
    }
    let frames: Vec<Frame> = (0..15).map(|_| ahead.receive(PATIENCE).unwrap().unwrap()).collect();
    ahead.cursor().commit(frames[14].end()).unwrap();
    let backlogs = || {
        let found = survey(&dir).unwrap().unwrap();
        let of = |it: Backlog| (it.consumer, it.oldest_ms);
        found.consumers.into_iter().map(of).collect::<Vec<_>>()
    };
    let expected = [("ahead".to_owned(), Some(1015)), ("behind".to_owned(), Some(1000))];
    assert_eq!(backlogs(), expected, "beside the process");
    drop((ahead, behind, spool));
    let before = contents(&dir);
    assert_eq!(backlogs(), expected, "without it");
    assert_eq!(contents(&dir), before);
    let found = survey(&dir).unwrap().unwrap();
    assert!(found.used_bytes > 0 && found.damaged == 0, "{found:?}");

    std::fs::write(dir.join("behind.cursor"), b"nonsense").unwrap();
    assert_eq!(backlogs(), expected, "without a cursor everything is unread");
}

#[test]
fn a_consumer_that_has_read_everything_has_no_backlog() {
    let scratch = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(options(scratch.path())).unwrap();
    let mut reader = spool.consumer("reader").unwrap();
    for number in 0..3 {
        spool.append_blocking(entry(number, 100)).unwrap();
    }
    let mut last = None;
    for _ in 0..3 {
        last = Some(reader.receive(PATIENCE).unwrap().unwrap().end());
    }
    reader.cursor().commit(last.unwrap()).unwrap();
    let found = survey(scratch.path()).unwrap().unwrap();
    assert_eq!(found.consumers[0].oldest_ms, None);
}
