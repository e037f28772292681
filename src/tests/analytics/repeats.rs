//! A repeat of an event is seen once, as it first arrived, before any merge.

use analytics::events::{self, EventFilter};
use serde_json::json;
use uuid::Uuid;

use super::fixture::{batch, counted, event, insert, measured, ms, send, stop_merges, text, total};
use crate::kit;

fn page(limit: u32) -> EventFilter {
    EventFilter { limit, ..Default::default() }
}

#[tokio::test]
async fn the_first_arrival_is_kept_over_a_repeat() {
    let analytics = kit::clickhouse_database().await;
    stop_merges(&analytics).await;
    let workspace = Uuid::now_v7();
    let first =
        event(workspace, "Seen", "e1", "2024-01-05T10:00:00Z").of("ann").with(json!({"n": 1}));
    let repeat =
        event(workspace, "Seen", "e1", "2024-01-05T11:00:00Z").of("bob").with(json!({"n": 2}));
    insert(&analytics, std::slice::from_ref(&first)).await;
    insert(&analytics, &[repeat]).await;
    let rows = events::query(&analytics, workspace, &page(10)).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].user_id, "ann");
    assert_eq!(rows[0].timestamp_ms, ms(&first.at));
    let sums = super::fixture::asked(&analytics, workspace, &measured("Seen", "n")).await;
    assert_eq!((sums[0].count, text(sums[0].sum.as_ref())), (1, Some("1")));
    // Neither by the other one's identifier nor in the other one's time is there anything.
    let bob = EventFilter { user_ids: Some(vec!["bob".to_owned()]), ..page(10) };
    assert_eq!(events::of_user(&analytics, workspace, &bob).await.unwrap(), (Vec::new(), 0));
    let later = EventFilter { start_ms: Some(ms("2024-01-05T10:30:00Z")), ..page(10) };
    assert_eq!(events::query(&analytics, workspace, &later).await.unwrap(), []);
}

#[tokio::test]
async fn a_repeat_stamped_by_the_server_on_another_day_is_one_event() {
    let analytics = kit::clickhouse_database().await;
    stop_merges(&analytics).await;
    let workspace = Uuid::now_v7();
    for at in ["2024-01-05T10:00:00Z", "2024-01-06T10:00:00Z", "2024-01-31T23:59:59.999Z"] {
        let mut one = event(workspace, "Seen", "e1", at);
        one.is_server_stamped = true;
        insert(&analytics, &[one]).await;
    }
    let buckets = super::fixture::asked(&analytics, workspace, &counted("Seen")).await;
    assert_eq!(buckets.len(), 1);
    assert_eq!((buckets[0].period_ms, buckets[0].count), (ms("2024-01-05T00:00:00Z"), 1));
    let rows = events::query(&analytics, workspace, &page(10)).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].timestamp_ms, ms("2024-01-05T10:00:00Z"));
}

#[tokio::test]
async fn a_server_stamped_event_is_found_in_a_range_that_begins_after_its_key_date() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    let mut one = event(workspace, "Seen", "e1", "2024-01-20T10:00:00Z");
    one.is_server_stamped = true;
    insert(&analytics, &[one]).await;
    let cases = [
        ("2024-01-20T10:00:00Z", "2024-01-20T10:00:00Z", 1),
        ("2024-01-10T00:00:00Z", "2024-02-10T00:00:00Z", 1),
        ("2024-01-20T10:00:00.001Z", "2024-01-21T00:00:00Z", 0),
        ("2024-01-01T00:00:00Z", "2024-01-20T09:59:59.999Z", 0),
    ];
    for (start, end, expected) in cases {
        let (start_ms, end_ms) = (Some(ms(start)), Some(ms(end)));
        let question = events::Aggregate { start_ms, end_ms, ..counted("Seen") };
        assert_eq!(total(&analytics, workspace, &question).await, expected, "{start} {end}");
        let list = EventFilter { start_ms, end_ms, ..page(10) };
        let rows = events::query(&analytics, workspace, &list).await.unwrap();
        assert_eq!(rows.len() as u64, expected, "{start} {end}");
    }
}

#[tokio::test]
async fn pages_stay_full_when_the_newest_candidates_are_all_repeats() {
    // The cut must move back, or the page would be short.
    let analytics = kit::clickhouse_database().await;
    stop_merges(&analytics).await;
    let workspace = Uuid::now_v7();
    let mut batch = Vec::new();
    for number in 0..20 {
        let at = format!("2024-01-05T10:00:{number:02}Z");
        batch.push(event(workspace, "Seen", &format!("e{number}"), &at));
    }
    insert(&analytics, &batch).await;
    for _ in 0..10 {
        let mut repeats = Vec::new();
        for number in 0..20 {
            let at = format!("2024-01-05T12:00:{number:02}Z");
            repeats.push(event(workspace, "Seen", &format!("e{number}"), &at));
        }
        insert(&analytics, &repeats).await;
    }
    let rows = events::query(&analytics, workspace, &page(15)).await.unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row.event_id.as_str()).collect();
    let expected: Vec<String> = (5..20).rev().map(|number| format!("e{number}")).collect();
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn a_batch_inserted_twice_is_stored_once() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    let order = event(workspace, "Order Completed", "o1", "2024-01-05T10:00:00Z").of("ann");
    let order = order.with(json!({"orderId": "A", "total": 5}));
    for _ in 0..2 {
        insert(&analytics, std::slice::from_ref(&order)).await;
    }
    assert_eq!(total(&analytics, workspace, &counted("Order Completed")).await, 1);
    let ann = EventFilter { user_ids: Some(vec!["ann".to_owned()]), ..page(10) };
    assert_eq!(events::of_user(&analytics, workspace, &ann).await.unwrap().1, 1);
}

#[tokio::test]
async fn ids_of_server_stamped_events_are_known_after_a_restart() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    let mut stamped = event(workspace, "Seen", "mine", "2024-01-20T10:00:00Z");
    stamped.is_server_stamped = true;
    let mut old = event(workspace, "Seen", "old", "2024-01-02T10:00:00Z");
    old.is_server_stamped = true;
    let own_time = event(workspace, "Seen", "own", "2024-01-20T10:00:00Z");
    insert(&analytics, &[stamped, old, own_time]).await;
    let found =
        events::recent_client_ids(&analytics, ms("2024-01-13T00:00:00Z"), 100).await.unwrap();
    let ids: Vec<_> =
        found.iter().map(|id| (id.workspace, id.event_id.as_str(), id.timestamp_ms)).collect();
    assert_eq!(ids, [(workspace, "mine", ms("2024-01-20T10:00:00Z"))]);
}

#[tokio::test]
async fn a_half_inserted_batch_is_complete_after_a_retry() {
    // The rows went into the table but not behind it: the repeat must not be dropped by the views.
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    let order = event(workspace, "Order Completed", "o1", "2024-01-05T10:00:00Z").of("ann");
    let rows = batch(&[order.with(json!({"orderId": "A", "total": 5}))]);
    for table in ["orders", "timeline"] {
        let refuse = format!("ALTER TABLE {table} ADD CONSTRAINT never CHECK 1 = 2");
        analytics.client().query_raw(&refuse).execute().await.unwrap();
    }
    send(&analytics, &rows, "batch-1").await.unwrap_err();
    for table in ["orders", "timeline"] {
        let accept = format!("ALTER TABLE {table} DROP CONSTRAINT never");
        analytics.client().query_raw(&accept).execute().await.unwrap();
    }
    for _ in 0..2 {
        send(&analytics, &rows, "batch-1").await.unwrap();
        assert_eq!(total(&analytics, workspace, &counted("Order Completed")).await, 1);
        assert_eq!(events::query(&analytics, workspace, &page(10)).await.unwrap().len(), 1);
        let stored: u64 =
            analytics.client().query_raw("SELECT count() FROM timeline").fetch_one().await.unwrap();
        assert_eq!(stored, 2);
    }
}

#[tokio::test]
async fn repeats_within_one_insert_are_one_event() {
    // Inserts are not merged on their way in (optimize_on_insert = 0), so one part may hold both.
    let analytics = kit::clickhouse_database().await;
    stop_merges(&analytics).await;
    let workspace = Uuid::now_v7();
    let first =
        event(workspace, "Seen", "e1", "2024-01-05T10:00:00Z").of("ann").with(json!({"n": 1}));
    let repeat =
        event(workspace, "Seen", "e1", "2024-01-05T11:00:00Z").of("bob").with(json!({"n": 2}));
    insert(&analytics, &[first, repeat]).await;
    let rows = events::query(&analytics, workspace, &page(10)).await.unwrap();
    assert_eq!((rows.len(), rows[0].user_id.as_str()), (1, "ann"));
    let sums = super::fixture::asked(&analytics, workspace, &measured("Seen", "n")).await;
    assert_eq!((sums[0].count, text(sums[0].sum.as_ref())), (1, Some("1")));
}
