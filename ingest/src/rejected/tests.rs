//! Samples and limits of what waits.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{
    waiting::{WAITING_IN_ALL_MAX, WAITING_IN_FLOOD_MAX, WAITING_MAX, WORKSPACES_MAX},
    *,
};

fn source(workspace: u128) -> EventSource<'static> {
    EventSource { workspace_id: Uuid::from_u128(workspace), key_id: "key", is_public: false }
}

fn named(name: &str) -> RejectedEvent<'_> {
    RejectedEvent { name: Some(name), reason: "no".into(), ..RejectedEvent::default() }
}

fn report(events: &RejectedEvents, workspace: u128, names: std::ops::Range<usize>) {
    let names: Vec<String> = names.map(|number| number.to_string()).collect();
    let refused: Vec<_> = names.iter().map(|name| named(name)).collect();
    events.report(source(workspace), 7, &refused);
}

fn names(batch: &RejectedBatch) -> Vec<&str> {
    batch.events.iter().map(|event| event.name.as_deref().unwrap()).collect()
}

#[test]
fn a_sample_is_the_first_value_and_reads_no_further_than_its_limit() {
    for (text, sample) in [
        ("", ""),
        (" {} ", "{}"),
        (r#"{"a":[1,{"b":"}]\""}]},{"c":1}"#, r#"{"a":[1,{"b":"}]\""}]}"#),
        (r#""a,b", 7"#, r#""a,b""#),
        ("7,8]", "7"),
        ("null]", "null"),
        ("]", ""),
        (r#"{"a":"unfinished"#, r#"{"a":"unfinished"#),
        (r#"{"a":"\"#, r#"{"a":"\"#),
    ] {
        assert_eq!(first_value(text.as_bytes(), 100), sample.as_bytes(), "{text}");
    }
    assert_eq!(first_value(b"  {\"a\":1}", 7), b"{\"a\":1}");
    assert_eq!(first_value(b"  {\"a\":1}", 6), b"{\"a\":1");
}

#[test]
fn texts_are_cut_at_characters_and_hold_no_nul() {
    let events = RejectedEvents::new(LiveEvents::default());
    let (long, reason) = ("ä".repeat(TEXT_BYTES_MAX), "ö".repeat(REASON_BYTES_MAX));
    let body = format!("\"{}\"", "x".repeat(BODY_SAMPLE_BYTES_MAX));
    events.report(
        source(1),
        7,
        &[RejectedEvent {
            name: Some("a\0b"),
            user_id: Some(&long),
            event_id: None,
            reason: reason.into(),
            body: body.as_bytes(),
        }],
    );
    let batch = events.take();
    let kept = &batch.events[0];
    assert_eq!(kept.name.as_deref(), Some("a b"));
    assert_eq!(kept.user_id.as_deref().map(str::len), Some(TEXT_BYTES_MAX));
    assert_eq!((kept.reason.len(), kept.body.len()), (REASON_BYTES_MAX, BODY_SAMPLE_BYTES_MAX));
    assert_eq!((kept.at_ms, kept.key_id.as_str(), kept.event_id.as_deref()), (7, "key", None));
}

#[test]
fn the_newest_of_a_workspace_wait_and_the_others_are_counted() {
    let events = RejectedEvents::new(LiveEvents::default());
    report(&events, 1, 0..WAITING_MAX);
    report(&events, 2, 0..1);
    let batch = events.take();
    assert_eq!((batch.events.len(), batch.unlisted.len()), (WAITING_MAX + 1, 0));
    assert!(events.take().is_empty());

    report(&events, 1, 0..3);
    report(&events, 1, 3..WAITING_MAX + 1);
    let batch = events.take();
    assert_eq!(names(&batch)[..2], ["1", "2"]);
    assert_eq!(batch.events.len(), WAITING_MAX);
    let unlisted = UnlistedEvents { workspace_id: Uuid::from_u128(1), at_ms: 7, count: 1 };
    assert_eq!(batch.unlisted, [unlisted]);

    // A flood goes on: fewer are kept of each batch, until one has few.
    report(&events, 1, 0..WAITING_IN_FLOOD_MAX + 2);
    let batch = events.take();
    assert_eq!(names(&batch)[0], "2");
    assert_eq!(batch.events.len(), WAITING_IN_FLOOD_MAX);
    assert_eq!(batch.unlisted[0].count, 2);
    assert!(events.take().is_empty());
    report(&events, 1, 0..WAITING_MAX);
    assert_eq!(events.take().events.len(), WAITING_MAX);
}

#[test]
fn a_flood_of_public_senders_leaves_the_events_of_servers() {
    let events = RejectedEvents::new(LiveEvents::default());
    report(&events, 1, 0..1);
    let many = vec![named("app"); WAITING_MAX];
    for workspace in 0..WORKSPACES_MAX as u128 {
        events.report(EventSource { is_public: true, ..source(workspace) }, 7, &many[..1]);
    }
    for workspace in 1..=(WAITING_IN_ALL_MAX / WAITING_MAX) as u128 {
        events.report(EventSource { is_public: true, ..source(workspace) }, 7, &many);
    }
    report(&events, 2, 1..2);
    report(&events, 1, 2..3);
    let batch = events.take();
    let of_servers = batch.events.iter().filter(|event| !event.is_public);
    let of_servers: Vec<_> = of_servers.map(|event| event.name.as_deref().unwrap()).collect();
    assert_eq!(BTreeSet::from_iter(of_servers), BTreeSet::from(["0", "1", "2"]));
    assert_eq!(batch.events.len(), WAITING_IN_ALL_MAX + 3);
    // Nor does their flood shorten what waits of a server next.
    report(&events, 1, 0..WAITING_MAX);
    assert_eq!(events.take().events.len(), WAITING_MAX);
}

#[test]
fn one_request_may_hold_more_than_what_waits() {
    let events = RejectedEvents::new(LiveEvents::default());
    report(&events, 1, 0..WAITING_MAX * 2);
    let batch = events.take();
    assert_eq!(names(&batch)[0], WAITING_MAX.to_string());
    assert_eq!(batch.unlisted[0].count, WAITING_MAX as u64);
}

#[test]
fn what_waits_in_all_is_bounded() {
    let events = RejectedEvents::new(LiveEvents::default());
    let workspaces = WAITING_IN_ALL_MAX / WAITING_MAX + 1;
    for workspace in 0..workspaces {
        report(&events, workspace as u128, 0..WAITING_MAX);
    }
    // A workspace with events of its own goes on with the newest.
    report(&events, 0, WAITING_MAX..WAITING_MAX + 1);
    let batch = events.take();
    assert_eq!(batch.events.len(), WAITING_IN_ALL_MAX);
    let unlisted: u64 = batch.unlisted.iter().map(|it| it.count).sum();
    assert_eq!(unlisted, WAITING_MAX as u64 + 1);
    assert!(batch.events.iter().any(|event| event.name.as_deref() == Some("500")));
}

#[tokio::test]
async fn a_batch_is_awaited() {
    let events = RejectedEvents::new(LiveEvents::default());
    let reporter = events.clone();
    let (batch, ()) = tokio::join!(events.next_batch(), async {
        tokio::task::yield_now().await;
        report(&reporter, 1, 0..1);
    });
    assert_eq!(names(&batch), ["0"]);
}
