//! Rows refused for their content: found, kept, and offered again.

use std::time::Duration;

use bytes::Bytes;

use super::{
    append,
    clickhouse::{FakeClickHouse, Insert, content_refusal},
    limits, open_spool, start, until,
};
use crate::{
    pipeline::{
        Limits,
        dead_letters::{self, RetryError},
    },
    spool::Entry,
};

fn refuse(bad: &'static [u64]) -> impl Fn(&Insert) -> Result<(), (u16, String)> {
    move |insert| {
        let found = insert.events.iter().any(|event| bad.contains(event));
        if found { Err(content_refusal()) } else { Ok(()) }
    }
}

#[tokio::test]
async fn refused_rows_become_dead_letters_and_all_others_go_in() {
    let dir = tempfile::tempdir().unwrap();
    let letters_dir = dir.path().join("dead-letters");
    let server = FakeClickHouse::start(refuse(&[0, 17, 18, 999])).await;
    let spool = open_spool(dir.path());
    for index in 0..100 {
        append(&spool, index * 10, 10).await;
    }
    let pipeline = start(&spool, dir.path(), server.client(), limits());
    until("all is dealt with", || pipeline.backlog().frames == 0).await;

    let letters = dead_letters::list(&letters_dir).unwrap();
    let ids: Vec<_> = letters.iter().map(|letter| letter.event_id.clone().unwrap()).collect();
    assert_eq!(ids, ["evt-00000000", "evt-00000017", "evt-00000018", "evt-00000999"]);
    assert_eq!(letters[1].code, 407);
    assert!(letters[1].reason.contains("Decimal value is too big"));
    assert_eq!(letters[1].at_ms, 1_700_000_001_000);
    assert_eq!(letters[1].event_name.as_deref(), Some("Page Viewed"));
    let taken = server.taken();
    assert_eq!(taken.len(), 996);
    assert!(taken.values().all(|times| *times == 1), "halving inserted nothing twice");
    // The queue goes on behind them.
    append(&spool, 1000, 10).await;
    until("the next went in", || server.taken().len() == 1006).await;
    pipeline.stop(Duration::from_secs(5)).await;

    // Still refused: they stay. Then the table is changed: they go in and leave the folder.
    let report = dead_letters::retry(&letters_dir, &server.client()).await.unwrap();
    assert_eq!((report.inserted, report.refused), (0, 4));
    assert_eq!(dead_letters::list(&letters_dir).unwrap().len(), 4);
    server.answer_by(refuse(&[17]));
    let report = dead_letters::retry(&letters_dir, &server.client()).await.unwrap();
    assert_eq!((report.inserted, report.refused), (3, 1));
    server.answer_by(|_| Ok(()));
    let report = dead_letters::retry(&letters_dir, &server.client()).await.unwrap();
    assert_eq!((report.inserted, report.refused), (1, 0));
    assert!(dead_letters::list(&letters_dir).unwrap().is_empty());
    assert_eq!(server.taken().len(), 1010);
}

#[tokio::test]
async fn one_event_alone_that_is_refused_does_not_stall_the_queue() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(refuse(&[5])).await;
    let spool = open_spool(dir.path());
    append(&spool, 5, 1).await;
    let pipeline = start(&spool, dir.path(), server.client(), limits());
    until("it is dealt with", || pipeline.backlog().frames == 0).await;
    assert_eq!(dead_letters::list(&dir.path().join("dead-letters")).unwrap().len(), 1);
}

#[tokio::test]
async fn a_table_that_refuses_every_row_is_awaited_without_dead_letters() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(|_| Err(content_refusal())).await;
    let spool = open_spool(dir.path());
    for index in 0..30 {
        append(&spool, index * 10, 10).await;
    }
    let lasting = Limits {
        linger: Duration::from_secs(1),
        linger_of_few: Duration::from_secs(1),
        ..limits()
    };
    let pipeline = start(&spool, dir.path(), server.client(), lasting);
    until("rows were tried alone", || {
        server.seen().iter().filter(|(insert, _)| insert.events.len() == 1).count() > 70
    })
    .await;
    assert_eq!(pipeline.backlog().events, 300);
    assert!(dead_letters::list(&dir.path().join("dead-letters")).unwrap().is_empty());
    server.answer_by(|_| Ok(()));
    until("all is in", || pipeline.backlog().frames == 0).await;
    assert_eq!(server.taken().len(), 300);
}

#[tokio::test]
async fn an_outage_during_the_bisection_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let server = FakeClickHouse::start(move |insert| {
        if tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2 == 1 {
            return Err((500, "Code: 241. DB::Exception: Memory limit exceeded".to_owned()));
        }
        refuse(&[33])(insert)
    })
    .await;
    let spool = open_spool(dir.path());
    append(&spool, 0, 64).await;
    let pipeline = start(&spool, dir.path(), server.client(), limits());
    until("all is dealt with", || pipeline.backlog().frames == 0).await;
    assert_eq!(server.taken().len(), 63);
    assert_eq!(dead_letters::list(&dir.path().join("dead-letters")).unwrap().len(), 1);
}

#[tokio::test]
async fn a_frame_that_is_no_batch_is_kept_whole_and_the_queue_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(|_| Ok(())).await;
    let spool = open_spool(dir.path());
    let payload = Bytes::from_static(b"\x09no batch");
    spool.append(Entry { payload, events: 1, at_ms: 5 }).await.unwrap();
    append(&spool, 0, 10).await;
    let pipeline = start(&spool, dir.path(), server.client(), limits());
    until("all is dealt with", || pipeline.backlog().frames == 0).await;
    assert_eq!(server.taken().len(), 10);
    let letters_dir = dir.path().join("dead-letters");
    let letters = dead_letters::list(&letters_dir).unwrap();
    assert_eq!(letters[0].frame.as_deref(), Some("096e6f206261746368"));
    assert!(letters[0].reason.contains("version 9"), "{}", letters[0].reason);
    let report = dead_letters::retry(&letters_dir, &server.client()).await.unwrap();
    assert_eq!((report.inserted, report.unreadable), (0, 1));
    assert_eq!(dead_letters::list(&letters_dir).unwrap().len(), 1);
}

#[tokio::test]
async fn two_retries_at_once_do_not_meet_and_an_unreachable_server_keeps_the_letters() {
    let dir = tempfile::tempdir().unwrap();
    let letters_dir = dir.path().join("dead-letters");
    let server = FakeClickHouse::start(refuse(&[3])).await;
    let spool = open_spool(dir.path());
    append(&spool, 0, 10).await;
    let pipeline = start(&spool, dir.path(), server.client(), limits());
    until("all is dealt with", || pipeline.backlog().frames == 0).await;

    let lock = std::fs::File::create(letters_dir.join("lock")).unwrap();
    lock.lock().unwrap();
    let refused = dead_letters::retry(&letters_dir, &server.client()).await;
    assert!(matches!(refused, Err(RetryError::Busy(_))), "{refused:?}");
    drop(lock);
    let gone = clickhouse::Client::default().with_url("http://127.0.0.1:9");
    let refused = dead_letters::retry(&letters_dir, &gone).await;
    assert!(matches!(refused, Err(RetryError::ClickHouse(_))), "{refused:?}");
    assert_eq!(dead_letters::list(&letters_dir).unwrap().len(), 1);
}
