//! Torn tails at every byte, flipped bits anywhere, stale frames in recycled files.

use std::{path::Path, sync::Arc};

use super::{
    PATIENCE, drain, entry,
    fake::{FakeFiles, Random},
    options, take,
};
use crate::spool::{
    Recovery, Spool, SpoolOptions, frame::FRAME_HEADER_BYTES, segment::SEGMENT_HEADER_BYTES,
};

const PAYLOAD_BYTES: usize = 40;
const FRAME_BYTES: usize = FRAME_HEADER_BYTES + PAYLOAD_BYTES;

fn open(files: &FakeFiles) -> (Spool, Recovery) {
    Spool::open_on(Arc::new(files.clone()), options(Path::new("/spool"))).unwrap()
}

/// A spool with `count` entries in its first segment and a consumer that committed none.
fn written(count: u64) -> FakeFiles {
    let files = FakeFiles::default();
    let (spool, _) = open(&files);
    drop(spool.consumer("clickhouse").unwrap());
    for number in 0..count {
        spool.append_blocking(entry(number, PAYLOAD_BYTES)).unwrap();
    }
    files.after_process_crash()
}

const FIRST: &str = "00000000000000000000.seg";

#[test]
fn a_tail_torn_at_any_byte_keeps_the_frames_before_it_and_takes_appends_behind_them() {
    // Goal: whatever a torn write leaves behind the tear (nothing, zeros, noise), the whole frames
    // before it are delivered, nothing else is, and the spool goes on with the next position.
    const COUNT: usize = 4;
    let intact = written(COUNT as u64);
    let content = intact.content(FIRST);
    let end = SEGMENT_HEADER_BYTES + COUNT * FRAME_BYTES;
    let mut random = Random::new(1);
    for tear in SEGMENT_HEADER_BYTES..=end {
        for fill in 0..3 {
            let files = intact.after_process_crash();
            let mut torn = content.clone();
            match fill {
                0 => torn.truncate(tear),
                1 => torn[tear..].fill(0),
                _ => torn[tear..].fill_with(|| u8::try_from(random.below(256)).unwrap()),
            }
            files.set_content(FIRST, torn);
            let whole = (tear - SEGMENT_HEADER_BYTES) / FRAME_BYTES;
            let begun = &content[SEGMENT_HEADER_BYTES + whole * FRAME_BYTES..tear];
            let is_torn = match fill {
                0 => !begun.is_empty(),
                // A checksum may begin with zeros: before others they are a clean end.
                1 => begun.iter().any(|byte| *byte != 0),
                _ => true,
            };
            let expected: Vec<u64> = (0..whole as u64).collect();

            let (spool, recovery) = open(&files);
            assert_eq!(recovery.head.get(), whole as u64, "tear {tear} fill {fill}");
            assert_eq!(recovery.torn_bytes > 0, is_torn, "tear {tear} fill {fill}");
            let mut consumer = spool.consumer("clickhouse").unwrap();
            assert_eq!(drain(&mut consumer), expected, "tear {tear} fill {fill}");
            spool.append_blocking(entry(77, PAYLOAD_BYTES)).unwrap();
            assert_eq!(take(&mut consumer, 1), [77]);
            drop((spool, consumer));
            let (spool, recovery) = open(&files);
            assert_eq!(recovery.torn_bytes, 0, "the torn tail was cut off");
            let again = drain(&mut spool.consumer("clickhouse").unwrap());
            assert_eq!(again, [expected, vec![77]].concat());
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_costs_at_most_the_frame_it_is_in() {
    const COUNT: u64 = 5;
    let intact = written(COUNT);
    let content = intact.content(FIRST);
    let end = SEGMENT_HEADER_BYTES + usize::try_from(COUNT).unwrap() * FRAME_BYTES;
    for at in 0..end + FRAME_HEADER_BYTES {
        for bit in [0, 3, 7] {
            let files = intact.after_process_crash();
            let mut flipped = content.clone();
            flipped[at] ^= 1 << bit;
            files.set_content(FIRST, flipped);
            let (spool, _) = open(&files);
            let mut consumer = spool.consumer("clickhouse").unwrap();
            let hit = at.checked_sub(SEGMENT_HEADER_BYTES).map(|at| (at / FRAME_BYTES) as u64);
            let expected: Vec<u64> = (0..COUNT).filter(|it| Some(*it) != hit).collect();
            assert_eq!(drain(&mut consumer), expected, "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn a_frame_lost_in_an_older_segment_is_passed_over_to_the_next_one() {
    // Three segments; the middle one loses everything from its third frame on, as a bad disk would.
    let files = FakeFiles::default();
    let (spool, _) = open(&files);
    let consumer = spool.consumer("clickhouse").unwrap();
    for number in 0..120 {
        spool.append_blocking(entry(number, PAYLOAD_BYTES)).unwrap();
    }
    drop((spool, consumer));
    let per_segment = ((4096 - SEGMENT_HEADER_BYTES) / FRAME_BYTES) as u64;
    let name = "00000000000000000001.seg";
    let mut content = files.content(name);
    content[SEGMENT_HEADER_BYTES + 2 * FRAME_BYTES..].fill(0);
    files.set_content(name, content);
    let (spool, recovery) = open(&files);
    assert_eq!(recovery.head.get(), 120);
    let expected: Vec<u64> = (0..per_segment + 2).chain(2 * per_segment..120).collect();
    assert_eq!(drain(&mut spool.consumer("clickhouse").unwrap()), expected);
}

#[test]
fn an_unreadable_segment_is_set_aside_and_the_others_are_delivered() {
    let files = written(120);
    let content = files.content("00000000000000000001.seg");
    files.set_content("00000000000000000001.seg", vec![0xff; content.len()]);
    let (spool, recovery) = open(&files);
    assert_eq!(recovery.segments_damaged, 1);
    let numbers = drain(&mut spool.consumer("clickhouse").unwrap());
    assert!(numbers.contains(&0) && numbers.contains(&119) && numbers.is_sorted());
    assert!(files.names().contains(&"damaged-00000000000000000001.seg".to_owned()));
}

#[test]
fn frames_of_a_recycled_files_former_life_are_never_delivered_again() {
    // Goal: the terminator of the last group is lost in a power cut, so that behind the last frame
    // lies a whole, aligned, checksummed frame of the file's former life.
    let files = FakeFiles::default();
    let (spool, _) = open(&files);
    let mut consumer = spool.consumer("clickhouse").unwrap();
    let mut number = 0;
    let recycled = loop {
        spool.append_blocking(entry(number, PAYLOAD_BYTES)).unwrap();
        number += 1;
        let frame = consumer.receive(PATIENCE).unwrap().unwrap();
        consumer.cursor().commit(frame.end()).unwrap();
        let names = files.names();
        let live = names.iter().rfind(|name| name.len() == FIRST.len()).unwrap().clone();
        let content = files.content(&live);
        // A stale frame lies where the one after the next will go.
        let stale = SEGMENT_HEADER_BYTES + 3 * FRAME_BYTES;
        if number > 100 && content[stale..stale + FRAME_HEADER_BYTES].iter().any(|it| *it != 0) {
            break live;
        }
    };
    let before = files.content(&recycled);
    spool.append_blocking(entry(number, PAYLOAD_BYTES)).unwrap();
    let frame = consumer.receive(PATIENCE).unwrap().unwrap();
    drop((spool, consumer));
    let end = usize::try_from(frame.end().offset).unwrap();
    let files = files.after_process_crash();
    let mut content = files.content(&recycled);
    content.resize(before.len(), 0);
    content[end..].copy_from_slice(&before[end..]);
    assert!(
        content[end..end + FRAME_HEADER_BYTES].iter().any(|it| *it != 0),
        "a stale frame follows"
    );
    files.set_content(&recycled, content);
    let (spool, recovery) = open(&files);
    assert_eq!(recovery.head.get(), number + 1);
    assert_eq!(drain(&mut spool.consumer("clickhouse").unwrap()), [number]);
}

#[test]
fn a_damaged_cursor_starts_again_at_the_oldest_frame_and_a_damaged_identity_is_found_again() {
    let files = written(10);
    {
        let (spool, _) = open(&files);
        let mut consumer = spool.consumer("clickhouse").unwrap();
        let frame = consumer.receive(PATIENCE).unwrap().unwrap();
        consumer.cursor().commit(frame.end()).unwrap();
    }
    let id = files.content("identity");
    for (name, at) in [("clickhouse.cursor", 30), ("identity", 10)] {
        let files = files.after_process_crash();
        let mut content = files.content(name);
        content[at] ^= 1;
        files.set_content(name, content);
        let (spool, recovery) = open(&files);
        assert_eq!(files.content("identity"), id);
        let first = u64::from(name == "identity");
        assert_eq!(recovery.cursors_reset.len(), usize::from(name != "identity"));
        let numbers = drain(&mut spool.consumer("clickhouse").unwrap());
        assert_eq!(numbers, (first..10).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn frames_in_unreadable_sectors_are_passed_over_and_nothing_stalls() {
    const SECTOR_BYTES: usize = 4096;
    const PAYLOAD: usize = 1000;
    const FRAMES: u64 = 60;
    let large = SpoolOptions { segment_bytes: 64 << 10, ..options(Path::new("/spool")) };
    let open =
        |files: &FakeFiles| Spool::open_on(Arc::new(files.clone()), large.clone()).unwrap().0;
    let files = FakeFiles::default();
    let spool = open(&files);
    drop(spool.consumer("clickhouse").unwrap());
    for number in 0..FRAMES {
        spool.append_blocking(entry(number, PAYLOAD)).unwrap();
    }
    spool.append_blocking(entry(FRAMES, 30 << 10)).unwrap();
    drop(spool);
    let frame_bytes = FRAME_HEADER_BYTES + PAYLOAD;
    // The first sector holds the segment's header, too; the last one the end of the frames in this file.
    for sector in [0, 1, 7, 14] {
        let files = files.after_process_crash();
        let bad = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
        files.make_unreadable(FIRST, bad.clone());
        let spool = open(&files);
        let hit = |number: u64| {
            let start = SEGMENT_HEADER_BYTES + usize::try_from(number).unwrap() * frame_bytes;
            start < bad.end && bad.start < start + frame_bytes
        };
        let expected: Vec<u64> =
            (0..=FRAMES).filter(|number| *number == FRAMES || !hit(*number)).collect();
        assert!(expected.len() >= 54, "{expected:?}");
        let mut consumer = spool.consumer("clickhouse").unwrap();
        assert_eq!(drain(&mut consumer), expected, "sector {sector}");
        spool.append_blocking(entry(77, PAYLOAD)).unwrap();
        assert_eq!(take(&mut consumer, 1), [77]);
    }
}
