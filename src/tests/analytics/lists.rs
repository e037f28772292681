//! Lists of events: newest first, in one total order over all pages.

use analytics::events::{self, EventFilter};
use serde_json::json;
use uuid::Uuid;

use super::fixture::{Event, event, insert, ms};
use crate::kit;

fn page(limit: u32, offset: u64) -> EventFilter {
    EventFilter { limit, offset, ..Default::default() }
}

fn by(ids: &[&str]) -> EventFilter {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    EventFilter { user_ids: Some(ids), ..page(100, 0) }
}

async fn ids(
    analytics: &analytics::Analytics,
    workspace: Uuid,
    filter: &EventFilter,
) -> Vec<String> {
    let rows = events::query(analytics, workspace, filter).await.unwrap();
    rows.into_iter().map(|row| row.event_id).collect()
}

/// Events over three months, several of them at one instant.
fn history(workspace: Uuid) -> Vec<Event> {
    let mut history = Vec::new();
    for number in 0..90_u32 {
        let (month, day) = (number / 30 + 1, number % 28 / 4 + 1);
        let at = format!("2024-{month:02}-{day:02}T00:00:00Z");
        let name = ["Seen", "Clicked", "Bought"][number as usize % 3];
        let mut one = event(workspace, name, &format!("e{number}"), &at);
        one.user_id = format!("u{}", number % 4);
        one.is_server_stamped = number % 5 == 0;
        history.push(one);
    }
    history
}

#[tokio::test]
async fn pages_of_any_size_cover_the_list_in_one_order() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    let history = history(workspace);
    insert(&analytics, &history).await;
    let mut expected: Vec<(i64, usize, String)> = Vec::new();
    for (arrival, one) in history.iter().enumerate() {
        expected.push((ms(&one.at), arrival, one.id.clone()));
    }
    expected.sort_by(|a, b| b.cmp(a));
    let expected: Vec<String> = expected.into_iter().map(|(_, _, id)| id).collect();
    for size in [1, 7, 40, 1000] {
        let mut found = Vec::new();
        while found.len() < expected.len() {
            let rows = ids(&analytics, workspace, &page(size, found.len() as u64)).await;
            assert!(!rows.is_empty(), "page size {size}");
            found.extend(rows);
        }
        assert_eq!(found, expected, "page size {size}");
    }
    assert!(ids(&analytics, workspace, &page(10, 90)).await.is_empty());
}

#[tokio::test]
async fn filters_by_name_person_and_time_combine() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    let history = history(workspace);
    insert(&analytics, &history).await;
    let (start, end) = (ms("2024-01-05T00:00:00Z"), ms("2024-03-03T00:00:00Z"));
    for name in [None, Some("Clicked"), Some("Never")] {
        for user in [None, Some("u1"), Some("unknown")] {
            for (start_ms, end_ms) in
                [(None, None), (Some(start), None), (None, Some(end)), (Some(start), Some(end))]
            {
                let filter = EventFilter {
                    user_ids: user.map(|user: &str| vec![user.to_owned()]),
                    event_name: name.map(str::to_owned),
                    start_ms,
                    end_ms,
                    ..page(1000, 0)
                };
                let expected = history.iter().filter(|one| {
                    name.is_none_or(|name| one.name == name)
                        && user.is_none_or(|user| one.user_id == user)
                        && start_ms.is_none_or(|start| ms(&one.at) >= start)
                        && end_ms.is_none_or(|end| ms(&one.at) <= end)
                });
                let mut expected: Vec<String> = expected.map(|one| one.id.clone()).collect();
                let mut found = ids(&analytics, workspace, &filter).await;
                expected.sort();
                found.sort();
                assert_eq!(found, expected, "{filter:?}");
                if filter.user_ids.is_some() {
                    let (_, total) = events::of_user(&analytics, workspace, &filter).await.unwrap();
                    assert_eq!(total, expected.len() as u64, "{filter:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_person_is_found_by_either_identifier_and_each_event_once() {
    let analytics = kit::clickhouse_database().await;
    let (workspace, stranger) = (Uuid::now_v7(), Uuid::now_v7());
    let internal = "0123456789abcdef01234567";
    let at = "2024-01-01T00:00:00Z";
    let mut both = event(workspace, "Seen", "both", at).of("ann");
    internal.clone_into(&mut both.service_user_id);
    let mut inside = event(workspace, "Seen", "inside", "2024-01-02T00:00:00Z");
    internal.clone_into(&mut inside.service_user_id);
    let outside = event(workspace, "Seen", "outside", "2024-01-03T00:00:00Z").of("ann");
    let mut nameless = event(workspace, "Seen", "nameless", "2024-01-04T00:00:00Z");
    "visitor".clone_into(&mut nameless.anonymous_id);
    let theirs = event(stranger, "Seen", "theirs", at).of("ann");
    insert(&analytics, &[both, inside, outside, nameless, theirs]).await;

    assert_eq!(
        ids(&analytics, workspace, &by(&["ann", internal])).await,
        ["outside", "inside", "both"]
    );
    assert_eq!(ids(&analytics, workspace, &by(&["ann"])).await, ["outside", "both"]);
    assert_eq!(ids(&analytics, workspace, &by(&[internal])).await, ["inside", "both"]);
    assert_eq!(ids(&analytics, workspace, &by(&["visitor"])).await, [""; 0]);
    assert_eq!(ids(&analytics, stranger, &by(&["ann"])).await, ["theirs"]);
    let (_, total) = events::of_user(&analytics, workspace, &by(&["ann", internal])).await.unwrap();
    assert_eq!(total, 3);

    let rows = events::query(&analytics, workspace, &page(10, 0)).await.unwrap();
    let users: Vec<&str> = rows.iter().map(|row| row.user_id.as_str()).collect();
    assert_eq!(users, ["", "ann", internal, "ann"]);
    assert_eq!(rows[0].anonymous_id, "visitor");
}

#[tokio::test]
async fn a_filter_without_a_match_finds_nothing() {
    // An empty identifier is how the timeline names everyone.
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    insert(&analytics, &[event(workspace, "Seen", "e", "2024-01-01T00:00:00Z").of("ann")]).await;
    for empty in [by(&[]), by(&[""])] {
        assert!(ids(&analytics, workspace, &empty).await.is_empty());
        assert_eq!(events::of_user(&analytics, workspace, &empty).await.unwrap().1, 0);
    }
    assert_eq!(events::of_user(&analytics, workspace, &page(10, 0)).await.unwrap().1, 0);
}

#[tokio::test]
async fn an_event_reads_back_as_it_was_tracked() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    let properties = json!({"a": {"b": [1, "x", null]}, "quote": "it's \"fine\" \\ 日本"});
    let mut one =
        event(workspace, "Seen", "e", "2024-01-01T12:34:56.789Z").with(properties.clone());
    "s1".clone_into(&mut one.session_id);
    insert(&analytics, &[one]).await;
    let rows = events::query(&analytics, workspace, &page(10, 0)).await.unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&rows[0].properties).unwrap(), properties);
    assert_eq!(rows[0].timestamp_ms, ms("2024-01-01T12:34:56.789Z"));
    assert_eq!((rows[0].session_id.as_str(), rows[0].device_id.as_str()), ("s1", ""));
}
