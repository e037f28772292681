//! Batches, cuts, tokens, outages and stops.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{
    DAY, append, batch,
    clickhouse::{FakeClickHouse, Insert},
    limits, open_spool, start, until,
};
use crate::{
    pipeline::{Limits, dead_letters},
    spool::Entry,
};

fn once_each(count: u64) -> BTreeMap<u64, usize> {
    (0..count).map(|number| (number, 1)).collect()
}

#[tokio::test]
async fn every_event_is_inserted_once_and_the_cursor_follows() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(|_| Ok(())).await;
    let spool = open_spool(dir.path());
    let pipeline = start(&spool, dir.path(), server.client(), limits());
    for index in 0..200 {
        append(&spool, index * 10, 10).await;
    }
    until("all is in", || pipeline.backlog().frames == 0).await;
    assert_eq!(server.taken(), once_each(2000));
    let seen = server.seen();
    assert!(seen.len() < 200, "batches were put together: {}", seen.len());
    let settings = &seen[0].0.settings;
    assert_eq!(settings["async_insert"], "0");
    assert!(settings["query"].starts_with("INSERT INTO events (workspace_id, event_name, day, "));
    pipeline.stop(Duration::from_secs(5)).await;
    assert!(dead_letters::list(&dir.path().join("dead-letters")).unwrap().is_empty());
}

#[tokio::test]
async fn rows_of_different_months_go_in_separate_inserts_with_tokens_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(|_| Ok(())).await;
    let spool = open_spool(dir.path());
    let days = |number: u64| if number.is_multiple_of(3) { DAY } else { DAY + 31 };
    spool.append(Entry::from(&batch(0, 30, days))).await.unwrap();
    let pipeline = start(&spool, dir.path(), server.client(), limits());
    until("all is in", || pipeline.backlog().frames == 0).await;
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].0.events, (0..30).step_by(3).collect::<Vec<_>>());
    let tokens: Vec<_> = seen.iter().map(|(insert, _)| insert.token.clone().unwrap()).collect();
    assert!(tokens[0].ends_with("-0-1-202311") && tokens[1].ends_with("-0-1-202312"), "{tokens:?}");
}

#[tokio::test]
async fn an_outage_only_lengthens_the_spool() {
    // Goal: errors of every passing kind, then a server that is gone, then back: nothing is lost,
    // nothing becomes a dead letter, the cursor waits.
    let dir = tempfile::tempdir().unwrap();
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let server = FakeClickHouse::start(move |_| {
        Err(match counted.fetch_add(1, Ordering::Relaxed) % 4 {
            0 => (500, "Code: 241. DB::Exception: Memory limit exceeded".to_owned()),
            1 => (500, "Code: 252. DB::Exception: Too many parts".to_owned()),
            2 => (503, String::new()),
            _ => (404, "Code: 60. DB::Exception: Unknown table".to_owned()),
        })
    })
    .await;
    let spool = open_spool(dir.path());
    let pipeline = start(&spool, dir.path(), server.client(), limits());
    for index in 0..50 {
        append(&spool, index * 10, 10).await;
    }
    until("it was tried again", || tries.load(Ordering::Relaxed) >= 5).await;
    let backlog = pipeline.backlog();
    assert_eq!((backlog.frames, backlog.events, backlog.oldest_ms), (50, 500, 1000));
    assert!(backlog.bytes > 0);
    server.answer_by(|_| Ok(()));
    until("all is in", || pipeline.backlog().frames == 0).await;
    assert_eq!(server.taken(), once_each(500));
    assert!(dead_letters::list(&dir.path().join("dead-letters")).unwrap().is_empty());
    pipeline.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn an_absent_server_is_awaited_but_not_by_stop() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open_spool(dir.path());
    let gone = clickhouse::Client::default().with_url("http://127.0.0.1:9");
    let pipeline = start(&spool, dir.path(), gone, limits());
    append(&spool, 0, 10).await;
    pipeline.stop(Duration::from_millis(300)).await;
    assert_eq!(spool.consumer("clickhouse").unwrap().cursor().behind().events, 10);

    let server = FakeClickHouse::start(|_| Ok(())).await;
    let pipeline = start(&spool, dir.path(), server.client(), limits());
    until("all is in", || pipeline.backlog().frames == 0).await;
    assert_eq!(server.taken(), once_each(10));
}

#[tokio::test]
async fn a_replay_after_a_crash_cuts_the_same_batches_under_the_same_tokens() {
    // Goal: the rows went in, the answer was lost, the process died before the cursor moved.
    let dir = tempfile::tempdir().unwrap();
    let down = Arc::new(AtomicBool::new(true));
    let is_down = Arc::clone(&down);
    let server = FakeClickHouse::start(move |_: &Insert| {
        if is_down.load(Ordering::Relaxed) {
            Err((500, "Code: 210. DB::Exception: Connection reset".to_owned()))
        } else {
            Ok(())
        }
    })
    .await;
    let small = Limits { rows_max: 70, rows_min: 70, ..limits() };
    {
        let spool = open_spool(dir.path());
        let pipeline = start(&spool, dir.path(), server.client(), small);
        for index in 0..40 {
            append(&spool, index * 10, 10).await;
        }
        until("the first batch was tried", || !server.seen().is_empty()).await;
        drop(pipeline);
        spool.close().await;
    }
    let before: Vec<Insert> = server.seen().into_iter().map(|(insert, _)| insert).collect();
    down.store(false, Ordering::Relaxed);
    // Limits under which the batches would be cut elsewhere.
    let spool = until_open(dir.path()).await;
    let large = Limits { rows_max: 1000, rows_min: 1000, ..limits() };
    let pipeline = start(&spool, dir.path(), server.client(), large);
    until("all is in", || pipeline.backlog().frames == 0).await;
    let after: Vec<Insert> =
        server.seen().into_iter().skip(before.len()).map(|(insert, _)| insert).collect();
    // Several batches are inserted at once, so they arrive in any order.
    for insert in &before {
        assert!(after.contains(insert), "same token, same rows: {insert:?}\n{after:?}");
    }
    assert_eq!(server.taken(), once_each(400));
}

/// The dropped pipeline's thread lets go of the spool a moment after it was asked to stop.
async fn until_open(dir: &std::path::Path) -> crate::spool::Spool {
    let mut lock = None;
    until("the spool is free", || {
        let file = std::fs::File::open(dir.join("spool/lock")).unwrap();
        let free = file.try_lock().is_ok();
        lock = free.then_some(file);
        free
    })
    .await;
    drop(lock);
    open_spool(dir)
}

/// Waits for rows as long as it takes.
fn patient() -> Limits {
    let wait = Duration::from_hours(1);
    Limits { linger: wait, linger_of_few: wait, ..limits() }
}

#[tokio::test]
async fn few_rows_are_inserted_while_many_wait_for_more() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(|_| Ok(())).await;
    let spool = open_spool(dir.path());
    let limits = Limits { linger_of_few: Duration::from_millis(20), ..patient() };
    append(&spool, 0, 10).await;
    let pipeline = start(&spool, dir.path(), server.client(), limits);
    until("the few are in", || pipeline.backlog().frames == 0).await;
    // One frame, so that they are many at once.
    append(&spool, 10, 200).await;
    append(&spool, 210, 10).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(pipeline.backlog().frames, 2, "they wait for more");
    spool.close().await;
    pipeline.stop(Duration::from_secs(20)).await;
    assert_eq!(server.taken(), once_each(220));
}

#[tokio::test]
async fn stop_inserts_what_is_in_the_spool() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(|_| Ok(())).await;
    let spool = open_spool(dir.path());
    let patient = patient();
    let pipeline = start(&spool, dir.path(), server.client(), patient);
    for index in 0..20 {
        append(&spool, index * 10, 10).await;
    }
    spool.close().await;
    pipeline.stop(Duration::from_secs(20)).await;
    assert_eq!(server.taken(), once_each(200));
}

#[tokio::test]
async fn chunks_end_at_the_limits_of_rows_and_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(|_| Ok(())).await;
    let spool = open_spool(dir.path());
    for index in 0..100 {
        append(&spool, index * 10, 10).await;
    }
    let rows = Limits { rows_max: 100, rows_min: 100, ..patient() };
    let pipeline = start(&spool, dir.path(), server.client(), rows);
    until("all is in", || pipeline.backlog().frames == 0).await;
    assert!(server.seen().iter().all(|(insert, _)| insert.events.len() == 100));
    pipeline.stop(Duration::from_secs(5)).await;

    let tight = Limits { bytes_max: 3000, ..patient() };
    let pipeline = start(&spool, dir.path(), server.client(), tight);
    for index in 100..200 {
        append(&spool, index * 10, 10).await;
    }
    spool.close().await;
    pipeline.stop(Duration::from_secs(20)).await;
    let sizes: Vec<usize> =
        server.seen().iter().skip(10).map(|(insert, _)| insert.events.len()).collect();
    assert!(sizes.iter().all(|rows| *rows <= 40), "{sizes:?}");
    assert_eq!(server.taken(), once_each(2000));
}
