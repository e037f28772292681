//! Panics of its parts: nothing is lost, and a frame that panics each time ends among the dead letters.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use bytes::Bytes;

use super::{
    super::{Pipeline, PipelineOptions, dead_letters},
    POISON, Workers, append,
    clickhouse::FakeClickHouse,
    limits, open_spool, until,
};
use crate::spool::Entry;

#[tokio::test]
async fn frames_that_panic_go_to_the_dead_letters_and_all_others_land_once() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(|_| Ok(())).await;
    let spool = open_spool(dir.path());
    for number in 0..60 {
        append(&spool, number * 10, 10).await;
        if [0, 7, 8, 59].contains(&number) {
            let payload = Bytes::from_static(POISON);
            spool.append(Entry { payload, events: 1, at_ms: 1 }).await.unwrap();
        }
    }
    let workers = Workers::default();
    let options = PipelineOptions {
        clickhouse: server.client(),
        dead_letters_dir: dir.path().join("dead-letters"),
        landed_keys: None,
        limits: limits(),
        now_ms: Arc::new(|| 1_700_000_001_000),
        workers: workers.clone(),
    };
    let pipeline = Pipeline::start(&spool, options).unwrap();
    until("all is dealt with", || pipeline.backlog().frames == 0).await;
    until("it is alive", || workers.find_dead(|_| true).is_none()).await;

    let taken = server.taken();
    assert_eq!(taken.keys().copied().collect::<Vec<_>>(), (0..600).collect::<Vec<_>>());
    assert!(taken.values().all(|times| *times == 1), "{taken:?}");
    let letters = dead_letters::list(&dir.path().join("dead-letters")).unwrap();
    let frames: Vec<_> = letters.iter().map(|letter| letter.frame.clone()).collect();
    assert_eq!(frames, vec![Some("706f69736f6e".to_owned()); 4], "the frames themselves are kept");
    assert!(letters.iter().all(|letter| letter.reason.contains("panicked")), "{letters:?}");

    append(&spool, 600, 10).await;
    until("it goes on", || pipeline.backlog().frames == 0).await;
    pipeline.stop(super::PATIENCE).await;
}

#[tokio::test]
async fn after_a_panic_of_the_inserter_it_goes_on_behind_what_it_committed() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(|_| Ok(())).await;
    let spool = open_spool(dir.path());
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let workers = Workers::default();
    let options = PipelineOptions {
        clickhouse: server.client(),
        dead_letters_dir: dir.path().join("dead-letters"),
        landed_keys: None,
        limits: limits(),
        // The inserter reads the clock after each chunk.
        now_ms: Arc::new(move || {
            assert!(counted.fetch_add(1, Ordering::Relaxed) >= 2, "the clock fails at first");
            1_700_000_001_000
        }),
        workers: workers.clone(),
    };
    let pipeline = Pipeline::start(&spool, options).unwrap();
    for number in 0..5 {
        append(&spool, number * 10, 10).await;
        until("it is in", || server.taken().len() as u64 == (number + 1) * 10).await;
    }
    until("the clock failed and works again", || calls.load(Ordering::Relaxed) > 2).await;
    until("it is alive", || workers.find_dead(|_| true).is_none()).await;
    pipeline.stop(super::PATIENCE).await;
    assert!(server.taken().values().all(|times| *times == 1));
}
