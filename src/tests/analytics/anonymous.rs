//! The migration that lists older events without a user by their anonymous ids.

use analytics::{
    Analytics,
    events::{self, EventFilter},
};
use uuid::Uuid;

use super::fixture::{Event, event, insert, run};
use crate::kit;

async fn found(analytics: &Analytics, workspace: Uuid, anonymous: &str) -> Vec<String> {
    let filter = EventFilter {
        user_ids: Some(Vec::new()),
        anonymous_ids: vec![anonymous.to_owned()],
        limit: 100,
        ..EventFilter::default()
    };
    let (rows, total) = events::of_user(analytics, workspace, &filter).await.unwrap();
    assert_eq!(total, rows.len() as u64);
    rows.into_iter().map(|row| row.event_id).collect()
}

fn anonymous(workspace: Uuid, id: &str, at: &str) -> Event {
    Event { anonymous_id: "a1".to_owned(), ..event(workspace, "A", id, at) }
}

#[tokio::test]
async fn older_anonymous_events_are_listed_day_by_day_and_may_be_listed_again() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    let events = [
        anonymous(workspace, "first", "2026-01-01T12:00:00Z"),
        anonymous(workspace, "second", "2026-01-02T12:00:00Z"),
        anonymous(workspace, "third", "2026-02-01T12:00:00Z"),
        anonymous(workspace, "of a user", "2026-01-02T13:00:00Z").of("ann"),
    ];
    insert(&analytics, &events).await;
    assert_eq!(found(&analytics, workspace, "a1").await, ["third", "second", "first"]);

    // As a program before migration 13 left them, and as an interrupted migration did.
    run(&analytics, "TRUNCATE TABLE timeline").await;
    assert!(found(&analytics, workspace, "a1").await.is_empty());
    let undone =
        "ALTER TABLE schema_migrations DELETE WHERE version = 14 SETTINGS mutations_sync = 2";
    for (done, expected) in [
        ("INSERT INTO timeline_anonymous_days (day) SELECT '2026-01-02'", vec!["third", "first"]),
        ("TRUNCATE TABLE timeline_anonymous_days", vec!["third", "second", "first"]),
    ] {
        run(&analytics, "TRUNCATE TABLE timeline_anonymous_days").await;
        run(&analytics, done).await;
        run(&analytics, undone).await;
        analytics.migrate().await.unwrap();
        // Entries that are written twice list an event once.
        assert_eq!(found(&analytics, workspace, "a1").await, expected);
    }
}
