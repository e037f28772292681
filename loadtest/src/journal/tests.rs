//! A journal keeps its promise whatever happens to its writer.

use proptest::prelude::*;

use super::*;
use crate::source::{EventSource, Generator, GeneratorOptions, Replay};

fn batch(number: u64) -> Batch {
    let options = GeneratorOptions { batch: 3, events: Some(30), ..GeneratorOptions::default() };
    Generator::new(options).unwrap().batch(number).unwrap()
}

#[test]
fn what_was_acknowledged_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let journal = Journal::open(&path).unwrap();
    let replay = Replay::read(
        "{\"clientEventId\":\"x \\\"1\"}\n{\"clientEventId\":\"y\"}\n".as_bytes(),
        2,
        1,
    )
    .unwrap();
    journal.record(Mark::Sent, &batch(0)).unwrap();
    journal.record(Mark::Acknowledged, &batch(0)).unwrap();
    journal.record(Mark::Sent, &batch(1)).unwrap();
    journal.record(Mark::Sent, &replay.batch(0).unwrap()).unwrap();
    journal.record_ids(Mark::Acknowledged, &["x \"1".to_owned()]).unwrap();
    journal.record_ids(Mark::Refused, &["y".to_owned()]).unwrap();

    let mut ledger = Ledger::read(&path).unwrap();
    assert_eq!(ledger.acknowledged(), 4);
    assert_eq!(ledger.known().count(), 8);
    assert_eq!(ledger.known().filter(|known| known.refused).count(), 1);
    assert!(ledger.count_stored(b"x \"1"));
    assert!(!ledger.count_stored(b"z"));
    let missing = ledger.name(10, |known| known.acknowledged && known.stored == 0).unwrap();
    assert_eq!(missing, ["lt-run-000000000000", "lt-run-000000000001", "lt-run-000000000002"]);
    assert_eq!(ledger.sample(2).unwrap().len(), 2);
}

#[test]
fn a_foreign_file_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes");
    std::fs::write(&path, "dear diary\n").unwrap();
    assert!(Journal::open(&path).is_err());
    assert!(Ledger::read(&path).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"dear diary\n");
}

#[test]
fn a_broken_line_in_the_middle_is_an_error_and_not_a_shorter_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    std::fs::write(&path, format!("{FIRST_LINE}\na range p- 0\na range p- 0 3\n")).unwrap();
    let error = Ledger::read(&path).unwrap_err();
    assert!(format!("{error:#}").contains("line 2"), "{error:#}");
}

proptest! {
    /// A loader killed in mid-write must neither invent an acknowledgement nor lose an earlier one.
    #[test]
    fn a_journal_torn_anywhere_keeps_its_whole_records_and_can_be_continued(cut in 0_usize..120) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::open(&path).unwrap();
        for number in 0..3 {
            journal.record(Mark::Acknowledged, &batch(number)).unwrap();
        }
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        let cut = cut.min(whole.len());
        std::fs::write(&path, &whole[..cut]).unwrap();
        let kept = whole[..cut].split(|byte| *byte == b'\n').count().saturating_sub(2) as u64;

        let journal = Journal::open(&path).unwrap();
        journal.record(Mark::Acknowledged, &batch(9)).unwrap();
        let ledger = Ledger::read(&path).unwrap();
        prop_assert!(!ledger.torn());
        prop_assert_eq!(ledger.acknowledged(), 3 * kept + 3);
    }
}
