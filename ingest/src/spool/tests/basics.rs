//! The promises in the order a reader meets them, on the real disk.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use super::{PATIENCE, drain, entry, number, options, take};
use crate::spool::{AppendError, ConsumeError, Entry, Spool, SpoolError, SpoolOptions};

#[test]
fn appended_entries_come_back_in_order_live_and_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, recovery) = Spool::open(options(dir.path())).unwrap();
    assert_eq!(recovery.head.get(), 0);
    let mut consumer = spool.consumer("clickhouse").unwrap();
    for number in 0..500 {
        let position = spool.append_blocking(entry(number, 60)).unwrap();
        assert_eq!(position.get(), number);
    }
    assert_eq!(take(&mut consumer, 500), (0..500).collect::<Vec<_>>());
    drop((spool, consumer));

    let (spool, recovery) = Spool::open(options(dir.path())).unwrap();
    assert_eq!((recovery.head.get(), recovery.torn_bytes), (500, 0));
    let mut consumer = spool.consumer("clickhouse").unwrap();
    assert_eq!(drain(&mut consumer), (0..500).collect::<Vec<_>>());
    assert_eq!(spool.append_blocking(entry(500, 60)).unwrap().get(), 500);
    assert_eq!(take(&mut consumer, 1), [500]);
}

#[test]
fn a_committed_entry_is_not_delivered_again_and_the_one_after_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(options(dir.path())).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    for number in 0..200 {
        spool.append_blocking(entry(number, 100)).unwrap();
    }
    let frame = (0..150).map(|_| consumer.receive(PATIENCE).unwrap().unwrap()).last().unwrap();
    consumer.cursor().commit(frame.end()).unwrap();
    let behind = consumer.cursor().behind();
    assert_eq!((behind.frames, behind.events), (50, 150));
    assert!(behind.bytes >= 50 * 148, "{behind:?}");
    drop((spool, consumer));

    let (spool, _) = Spool::open(options(dir.path())).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    assert_eq!(consumer.cursor().behind().events, 150);
    assert_eq!(drain(&mut consumer), (150..200).collect::<Vec<_>>());
}

#[test]
fn frames_that_were_not_let_go_can_be_read_again_in_any_range() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(options(dir.path())).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    for number in 0..200 {
        spool.append_blocking(entry(number, 100)).unwrap();
    }
    let frames: Vec<_> = (0..200).map(|_| consumer.receive(PATIENCE).unwrap().unwrap()).collect();
    let cursor = consumer.cursor();
    // Segments end among them; a range may begin or end at any frame.
    for (first, last) in [(0, 0), (0, 199), (199, 199), (20, 60), (26, 28), (27, 27), (120, 199)] {
        let again = cursor.read_again(frames[first].position..frames[last].end().position).unwrap();
        let expected = frames[first..=last].iter().map(|frame| frame.payload.clone());
        assert_eq!(again, expected.collect::<Vec<_>>(), "{first} to {last}");
    }
    assert!(cursor.read_again(frames[3].position..frames[3].position).unwrap().is_empty());
    cursor.commit(frames[150].end()).unwrap();
    assert!(cursor.read_again(frames[0].position..frames[1].end().position).is_err());
    let kept = cursor.read_again(frames[151].position..frames[199].end().position).unwrap();
    assert_eq!(kept.len(), 49);
}

#[test]
fn a_second_process_on_the_same_folder_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(options(dir.path())).unwrap();
    let refused = Spool::open(options(dir.path())).unwrap_err();
    assert!(matches!(refused, SpoolError::Locked { .. }), "{refused}");
    assert!(refused.to_string().contains("in use by another process"), "{refused}");
    drop(spool);
    Spool::open(options(dir.path())).unwrap();
}

#[test]
fn a_full_spool_refuses_at_once_and_takes_entries_again_after_a_commit() {
    let dir = tempfile::tempdir().unwrap();
    let options = SpoolOptions { limit_bytes: 3 * 4096, ..options(dir.path()) };
    let (spool, _) = Spool::open(options.clone()).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    let mut appended = 0;
    let refused = loop {
        match spool.append_blocking(entry(appended, 500)) {
            Ok(_) => appended += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, AppendError::Full { limit_bytes: 12_288, .. }), "{refused}");
    assert_eq!(appended, 21, "three segments of seven frames");
    assert!(disk_bytes(&options) <= options.limit_bytes);

    let frame = (0..7).map(|_| consumer.receive(PATIENCE).unwrap().unwrap()).last().unwrap();
    consumer.cursor().commit(frame.end()).unwrap();
    for number in appended..appended + 7 {
        spool.append_blocking(entry(number, 500)).unwrap();
    }
    assert!(spool.append_blocking(entry(99, 500)).is_err());
    assert!(disk_bytes(&options) <= options.limit_bytes, "the freed file was used again");
    assert_eq!(take(&mut consumer, 21), (7..28).collect::<Vec<_>>());
}

fn disk_bytes(options: &SpoolOptions) -> u64 {
    let segments = fs::read_dir(&options.dir).unwrap().map(Result::unwrap);
    let segments = segments.filter(|it| it.path().extension().is_some_and(|it| it == "seg"));
    segments.map(|it| it.metadata().unwrap().len()).sum()
}

#[test]
fn no_segment_is_taken_out_of_the_file_systems_reserve() {
    let dir = tempfile::tempdir().unwrap();
    let options = SpoolOptions { reserve_bytes: u64::MAX / 2, ..options(dir.path()) };
    let (spool, _) = Spool::open(options).unwrap();
    let refused = spool.append_blocking(entry(0, 10)).unwrap_err();
    assert!(matches!(refused, AppendError::Full { .. }), "{refused}");
}

#[test]
fn a_payload_larger_than_a_segment_is_refused_and_one_that_just_fits_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(options(dir.path())).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    let most = 4096 - 64 - 48;
    let refused = spool.append_blocking(entry(0, most + 1)).unwrap_err();
    assert!(matches!(refused, AppendError::TooLarge { limit_bytes: 3984, .. }), "{refused}");
    for number in 0..3 {
        spool.append_blocking(entry(number, most)).unwrap();
    }
    assert_eq!(take(&mut consumer, 3), [0, 1, 2]);
    drop((spool, consumer));
    let (spool, recovery) = Spool::open(options(dir.path())).unwrap();
    assert_eq!((recovery.head.get(), recovery.torn_bytes), (3, 0));
    assert_eq!(drain(&mut spool.consumer("clickhouse").unwrap()), [0, 1, 2]);
}

#[test]
fn consumers_at_different_speeds_each_get_everything_once_and_in_order() {
    // Goal: the way from the channel to the segments and back, under as many overflows as possible.
    const COUNT: u64 = 30_000;
    let dir = tempfile::tempdir().unwrap();
    let options = SpoolOptions {
        segment_bytes: 1 << 20,
        limit_bytes: 64 << 20,
        durability: crate::spool::Durability::Os,
        ..options(dir.path())
    };
    let (spool, _) = Spool::open(options).unwrap();
    let reached = AtomicU64::new(0);
    thread::scope(|scope| {
        for (name, pause_every) in [("fast", 0), ("slow", 50), ("slower", 7)] {
            let mut consumer = spool.consumer(name).unwrap();
            let reached = &reached;
            scope.spawn(move || {
                for expected in 0..COUNT {
                    let frame = consumer.receive(PATIENCE).unwrap().unwrap();
                    assert_eq!((frame.position.get(), number(&frame)), (expected, expected));
                    if pause_every > 0 && expected % (pause_every * 100) == 0 {
                        // A consumer that stops for a while, so that its channel overflows.
                        while reached.load(Ordering::Relaxed) < (expected + 6000).min(COUNT) {
                            thread::yield_now();
                        }
                    }
                    if expected % 1000 == 999 {
                        consumer.cursor().commit(frame.end()).unwrap();
                    }
                }
                assert!(consumer.receive(Duration::ZERO).unwrap().is_none(), "nothing twice");
            });
        }
        scope.spawn(|| {
            let mut answers = Vec::new();
            for number in 0..COUNT {
                answers.push(spool.append(entry(number, 40)));
                if answers.len() == 256 {
                    for answer in answers.drain(..) {
                        pollster(answer).unwrap();
                    }
                    reached.store(number + 1, Ordering::Relaxed);
                }
            }
            for answer in answers {
                pollster(answer).unwrap();
            }
            reached.store(COUNT, Ordering::Relaxed);
        });
    });
}

fn pollster<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[tokio::test]
async fn close_answers_what_is_queued_and_refuses_what_comes_after() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(options(dir.path())).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    let answers: Vec<_> = (0..100).map(|number| spool.append(entry(number, 40))).collect();
    spool.close().await;
    for answer in answers {
        answer.await.unwrap();
    }
    assert!(matches!(spool.append(entry(100, 40)).await, Err(AppendError::Closed)));
    assert_eq!(drain(&mut consumer), (0..100).collect::<Vec<_>>());
    assert!(matches!(consumer.receive(PATIENCE), Err(ConsumeError::Closed)));
}

#[test]
fn a_queue_beyond_its_bytes_refuses_and_counts_right_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let options = SpoolOptions { queue_bytes: 1000, ..options(dir.path()) };
    let (spool, _) = Spool::open(options).unwrap();
    let answers: Vec<_> = (0..200).map(|number| spool.append(entry(number, 400))).collect();
    let outcomes: Vec<_> = answers.into_iter().map(pollster).collect();
    let refused = outcomes.iter().filter(|it| matches!(it, Err(AppendError::QueueFull))).count();
    let taken = outcomes.iter().filter(|it| it.is_ok()).count();
    assert_eq!(refused + taken, 200);
    assert!(refused > 0 && taken >= 2, "{refused} refused, {taken} taken");
    // Every byte was given back: one entry as large as the whole queue still goes in.
    spool.append_blocking(entry(0, 1000)).unwrap();
}

#[test]
fn a_new_consumer_starts_at_the_oldest_frame_and_holds_segments_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(options(dir.path())).unwrap();
    let mut first = spool.consumer("clickhouse").unwrap();
    for number in 0..40 {
        spool.append_blocking(entry(number, 500)).unwrap();
    }
    let frame = (0..40).map(|_| first.receive(PATIENCE).unwrap().unwrap()).last().unwrap();
    first.cursor().commit(frame.end()).unwrap();
    let mut second = spool.consumer("triggers").unwrap();
    let oldest = second.next().position.get();
    assert!(oldest > 0, "consumed segments were freed");
    assert_eq!(drain(&mut second), (oldest..40).collect::<Vec<_>>());
    assert!(matches!(spool.consumer("triggers"), Err(SpoolError::ConsumerBusy { .. })));
    assert!(matches!(spool.consumer("../x"), Err(SpoolError::ConsumerName { .. })));
}

/// Whether any file of the folder contains these bytes.
fn any_file_has(dir: &std::path::Path, bytes: &[u8]) -> bool {
    fs::read_dir(dir).unwrap().any(|file| {
        let content = fs::read(file.unwrap().path()).unwrap();
        content.windows(bytes.len()).any(|part| part == bytes)
    })
}

#[test]
fn after_a_renewal_and_commits_no_byte_of_earlier_frames_is_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(options(dir.path())).unwrap();
    let mut consumers = ["clickhouse", "triggers"].map(|name| spool.consumer(name).unwrap());
    let marked = |text: &'static [u8]| Entry { payload: text.into(), ..entry(0, 8) };
    // Files of several segments, of which some are freed and used again.
    for number in 0..200 {
        spool.append_blocking(marked(b"canary-0123456789")).unwrap();
        if number % 40 == 0 {
            for consumer in &mut consumers {
                let frame = consumer.receive(PATIENCE).unwrap().unwrap();
                consumer.cursor().commit(frame.end()).unwrap();
            }
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let renewed = runtime.block_on(spool.renew()).unwrap();
    spool.append_blocking(marked(b"afterwards")).unwrap();
    assert!(!spool.is_freed(renewed) && any_file_has(dir.path(), b"canary"));
    for consumer in &mut consumers {
        assert!(!spool.is_freed(renewed), "another consumer still needs them");
        let mut last = None;
        while let Some(frame) = consumer.receive(Duration::ZERO).unwrap() {
            last = Some(frame);
        }
        let last = last.unwrap();
        assert_eq!(&last.payload[..], b"afterwards", "nothing is lost");
        consumer.cursor().commit(last.end()).unwrap();
    }
    assert!(spool.is_freed(renewed) && !any_file_has(dir.path(), b"canary"));
    assert!(any_file_has(dir.path(), b"afterwards"));
    drop((spool, consumers));
    let (spool, recovery) = Spool::open(options(dir.path())).unwrap();
    assert_eq!(recovery.head.get(), 201);
    assert_eq!(spool.append_blocking(entry(1, 20)).unwrap().get(), 201);
}
