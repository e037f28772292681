//! Message events go into their own table, beside the events of the same chunk and alone.

use std::time::Duration;

use uuid::Uuid;

use super::{
    append,
    clickhouse::{EVENT_MARK, FakeClickHouse, Insert, content_refusal},
    limits, open_spool, start, until,
};
use crate::{
    pipeline::{Limits, dead_letters},
    record::{MessageBatchBuilder, MessageEvent, MessageKind},
    spool::{Entry, Spool},
};

/// Message events `first..first + count`, one batch.
async fn append_queued(spool: &Spool, first: u64, count: u64) {
    let mut builder = MessageBatchBuilder::default();
    for number in first..first + count {
        builder.push(&MessageEvent {
            kind: MessageKind::Opened,
            message_id: Uuid::from_u128(3),
            event_id: &format!("{EVENT_MARK}{number:08}"),
            ..MessageEvent::default()
        });
    }
    let batch = builder.finish(Uuid::from_u128(7), 1_700_000_000_000, first << 12).unwrap();
    spool.append(Entry::from(&batch)).await.unwrap();
}

fn table(insert: &Insert) -> &str {
    let into = insert.settings["query"].strip_prefix("INSERT INTO ").unwrap();
    into.split(' ').next().unwrap()
}

#[tokio::test]
async fn a_chunk_of_both_kinds_is_an_insert_into_each_table() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(|_| Ok(())).await;
    let spool = open_spool(dir.path());
    append(&spool, 0, 10).await;
    append_queued(&spool, 100, 10).await;
    append(&spool, 10, 10).await;
    append_queued(&spool, 110, 10).await;
    let once = Limits {
        linger: Duration::from_secs(1),
        linger_of_few: Duration::from_secs(1),
        ..limits()
    };
    let pipeline = start(&spool, dir.path(), server.client(), once);
    until("all is in", || pipeline.backlog().frames == 0).await;
    let seen = server.seen();
    assert_eq!(seen.len(), 2, "one chunk, two tables");
    let (events, messages) = (&seen[0].0, &seen[1].0);
    assert_eq!((table(events), &events.events), ("events", &(0..20).collect::<Vec<u64>>()));
    assert_eq!(table(messages), "message_events");
    assert_eq!(messages.events, (100..120).collect::<Vec<u64>>());
    let tokens = [events, messages].map(|insert| insert.token.clone().unwrap());
    assert!(tokens[0].ends_with("-202311") && tokens[1].ends_with("-messages"), "{tokens:?}");
}

#[tokio::test]
async fn message_events_alone_are_inserted_too() {
    let dir = tempfile::tempdir().unwrap();
    let server = FakeClickHouse::start(|_| Ok(())).await;
    let spool = open_spool(dir.path());
    append_queued(&spool, 0, 3).await;
    let pipeline = start(&spool, dir.path(), server.client(), limits());
    until("all is in", || pipeline.backlog().frames == 0).await;
    assert_eq!(server.taken().len(), 3);
    assert!(server.seen().iter().all(|(insert, _)| table(insert) == "message_events"));
}

#[tokio::test]
async fn a_refused_message_event_becomes_a_dead_letter_and_a_retry_puts_it_into_its_table() {
    let dir = tempfile::tempdir().unwrap();
    let letters_dir = dir.path().join("dead-letters");
    let refuse = |insert: &Insert| {
        if insert.events.contains(&17) { Err(content_refusal()) } else { Ok(()) }
    };
    let server = FakeClickHouse::start(refuse).await;
    let spool = open_spool(dir.path());
    append(&spool, 100, 20).await;
    append_queued(&spool, 0, 40).await;
    let pipeline = start(&spool, dir.path(), server.client(), limits());
    until("all is dealt with", || pipeline.backlog().frames == 0).await;
    let taken = server.taken();
    assert_eq!(taken.len(), 59);
    assert!(taken.values().all(|times| *times == 1), "halving inserted nothing twice");
    let letters = dead_letters::list(&letters_dir).unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].event_name.as_deref(), Some("opened"));
    assert_eq!(letters[0].event_id.as_deref(), Some("00000000-0000-0000-0000-000000000003"));
    let row: serde_json::Value =
        serde_json::from_str(letters[0].row.as_ref().unwrap().get()).unwrap();
    assert_eq!(
        (row["event_id"].as_str(), row["type"].as_str()),
        (Some("evt-00000017"), Some("opened"))
    );

    server.answer_by(|_| Ok(()));
    let report = dead_letters::retry(&letters_dir, &server.client()).await.unwrap();
    assert_eq!((report.inserted, report.refused), (1, 0));
    assert_eq!(server.taken()[&17], 1);
    let seen = server.seen();
    assert_eq!(table(&seen.last().unwrap().0), "message_events");
}
