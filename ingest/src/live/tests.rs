//! Listeners, their limits, and what they miss.

use std::time::{Duration, Instant};

use super::{watched::Budget, *};
use crate::record::EventView;

const BOTH: Wanted = Wanted { accepted: true, rejected: true };

fn source(workspace: u128) -> EventSource<'static> {
    EventSource { workspace_id: Uuid::from_u128(workspace), key_id: "key", is_public: false }
}

fn batch(workspace: u128, events: u64, properties: &str) -> Batch {
    let mut builder = BatchBuilder::with_capacity(100);
    for _ in 0..events {
        let view = EventView { event_name: "A", event_id: "1", properties, ..EventView::default() };
        builder.push(&view);
    }
    builder.finish(Uuid::from_u128(workspace), 5, 1).unwrap()
}

fn refused() -> Arc<KeptRejection> {
    Arc::new(KeptRejection {
        workspace_id: Uuid::from_u128(1),
        key_id: "key".to_owned(),
        is_public: false,
        at_ms: 5,
        name: None,
        user_id: None,
        event_id: None,
        reason: "no".to_owned(),
        body: "{}".to_owned(),
    })
}

/// Events of the arrivals that wait.
async fn waiting(listener: &Listener) -> Vec<u64> {
    let mut counts = Vec::new();
    while let Ok(arrival) = tokio::time::timeout(Duration::ZERO, listener.next()).await {
        counts.push(arrival.unwrap().count());
    }
    counts
}

#[tokio::test]
async fn a_listener_receives_what_it_wants_of_its_workspace() {
    let live = LiveEvents::default();
    live.offer_accepted(source(1), &batch(1, 1, "{}"));
    let listen = |wanted| live.listen(Uuid::from_u128(1), wanted).unwrap();
    let both = listen(BOTH);
    let accepted = listen(Wanted { accepted: true, rejected: false });
    let rejected = listen(Wanted { accepted: false, rejected: true });
    live.offer_accepted(source(2), &batch(2, 1, "{}"));
    live.offer_accepted(source(1), &batch(1, 3, "{}"));
    live.offer_rejected(Uuid::from_u128(1), &[refused()], 1);
    live.offer_rejected(Uuid::from_u128(2), &[refused()], 1);
    assert_eq!(waiting(&both).await, [3, 1]);
    assert_eq!(waiting(&accepted).await, [3]);
    assert_eq!(waiting(&rejected).await, [1]);
    for mut listener in [both, accepted, rejected] {
        assert_eq!(listener.take_missed(), 0);
    }
}

#[test]
fn listeners_are_bounded_and_make_room_when_they_go() {
    let live = LiveEvents::default();
    let listen = |workspace: usize| live.listen(Uuid::from_u128(workspace as u128), BOTH);
    let mut all: Vec<Listener> = (0..WORKSPACE_LISTENERS_MAX).map(|_| listen(0).unwrap()).collect();
    assert_eq!(listen(0).unwrap_err(), ListenError::OfWorkspace);
    let others = LISTENERS_MAX - WORKSPACE_LISTENERS_MAX;
    all.extend((0..others).map(|at| listen(1 + at / WORKSPACE_LISTENERS_MAX).unwrap()));
    assert_eq!(listen(100).unwrap_err(), ListenError::InAll);
    all.pop();
    all.push(listen(100).unwrap());
    assert!(live.has_listeners(Uuid::from_u128(100)));
    drop(all);
    assert!(!live.has_listeners(Uuid::from_u128(100)));
    assert!(live.0.workspaces.read().is_empty());
    listen(0).unwrap();
}

#[tokio::test]
async fn listeners_end_when_the_process_stops() {
    let live = LiveEvents::default();
    let listener = live.listen(Uuid::from_u128(1), BOTH).unwrap();
    live.offer_accepted(source(1), &batch(1, 1, "{}"));
    let (ended, ()) = tokio::join!(
        async {
            assert!(listener.next().await.is_some());
            listener.next().await
        },
        async {
            tokio::task::yield_now().await;
            live.close();
        }
    );
    assert!(ended.is_none());
    assert!(listener.next().await.is_none());
    assert_eq!(live.listen(Uuid::from_u128(1), BOTH).unwrap_err(), ListenError::Closed);
}

#[tokio::test]
async fn what_a_slow_listener_does_not_take_is_bounded_and_counted() {
    let live = LiveEvents::default();
    let mut slow = live.listen(Uuid::from_u128(1), BOTH).unwrap();
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(BATCH_BYTES_MAX / 2));
    let batch = batch(1, 1, &large);
    let bytes = batch.as_bytes().len();
    for _ in 0..QUEUE_BYTES_MAX / bytes + 3 {
        live.offer_accepted(source(1), &batch);
    }
    assert_eq!(waiting(&slow).await.len(), QUEUE_BYTES_MAX / bytes);
    assert_eq!(slow.take_missed(), 3);
    assert_eq!(slow.take_missed(), 0);
    live.offer_rejected(Uuid::from_u128(1), &[refused()], 9);
    assert_eq!(waiting(&slow).await, [1]);
    assert_eq!(slow.take_missed(), 8);
}

#[tokio::test]
async fn of_a_large_request_the_first_events_are_offered() {
    let live = LiveEvents::default();
    let mut listener = live.listen(Uuid::from_u128(1), BOTH).unwrap();
    let properties = format!("{{\"a\":\"{}\"}}", "x".repeat(50_000));
    live.offer_accepted(source(1), &batch(1, 20, &properties));
    let Some(Arrival::Accepted { batch, .. }) = listener.next().await else {
        panic!("nothing arrived")
    };
    let offered = u64::from(batch.header().count);
    assert_eq!(offered, 6);
    assert!(batch.as_bytes().len() < BATCH_BYTES_MAX + 60_000);
    assert_eq!(listener.take_missed(), 20 - offered);
}

#[test]
fn a_second_has_room_for_so_many_events_and_bytes_and_always_for_the_first() {
    let begin = Instant::now();
    let at = |ms| begin + Duration::from_millis(ms);
    let budget = Budget::default();
    assert!(budget.admits_at(at(0), CHECKED_PER_SECOND, 1));
    assert!(!budget.admits_at(at(999), 1, 1));
    assert!(budget.admits_at(at(1_000), CHECKED_PER_SECOND * 2, 1));
    assert!(!budget.admits_at(at(1_001), 1, 1));
    assert!(budget.admits_at(at(2_000), 1, CHECKED_BYTES_PER_SECOND));
    assert!(!budget.admits_at(at(2_001), 1, 1));
    assert!(budget.admits_at(at(3_000), 1, CHECKED_BYTES_PER_SECOND - 1));
    assert!(budget.admits_at(at(3_001), 1, 1));
    assert!(!budget.admits_at(at(3_002), 0, 1));
}

#[tokio::test]
async fn what_is_beyond_the_budget_is_missed_by_those_who_want_it() {
    let live = LiveEvents::default();
    let mut accepted =
        live.listen(Uuid::from_u128(1), Wanted { accepted: true, rejected: false }).unwrap();
    let mut rejected =
        live.listen(Uuid::from_u128(1), Wanted { accepted: false, rejected: true }).unwrap();
    let events = batch(1, CHECKED_PER_SECOND, "{}");
    // Two of them may fall into two seconds, three in a row do not fall into three.
    for _ in 0..3 {
        live.offer_accepted(source(1), &events);
    }
    let missed = accepted.take_missed();
    assert!(missed >= CHECKED_PER_SECOND, "{missed}");
    assert_eq!(rejected.take_missed(), 0);
    // One that comes later has missed nothing.
    let mut later = live.listen(Uuid::from_u128(1), BOTH).unwrap();
    assert_eq!(later.take_missed(), 0);
}
