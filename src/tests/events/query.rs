//! `GET /events/query`: filters, limits, order.

use serde_json::{Value, json};

use super::track::events_of;
use crate::kit::Workspace;

/// Ten events, a minute apart, the newest last; `A` and `B` in turn, by `ann` and `bob` in fives.
async fn ten_events() -> Workspace {
    let workspace = Workspace::new().await;
    let batch: Vec<Value> = (0..10)
        .map(|n| {
            json!({
                "userId": if n < 5 { "ann" } else { "bob" },
                "eventName": if n % 2 == 0 { "A" } else { "B" },
                "timestamp": format!("2026-03-01T12:{n:02}:00.500Z"),
                "clientEventId": format!("e{n}"),
            })
        })
        .collect();
    workspace.api.post("/events/track", &Value::Array(batch), 200).await;
    events_of(&workspace, 10).await;
    workspace
}

async fn ids(workspace: &Workspace, query: &str) -> Vec<String> {
    let events = workspace.api.get(format!("/events/query{query}"), 200).await.json();
    let events = events.as_array().expect("a bare array").clone();
    events.iter().map(|event| event["event_id"].as_str().unwrap().to_owned()).collect()
}

fn e(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(|n| format!("e{n}")).collect()
}

#[tokio::test]
async fn events_come_newest_first_and_are_filtered_by_user_and_name() {
    let workspace = ten_events().await;
    assert_eq!(ids(&workspace, "").await, e((0..10).rev()));
    assert_eq!(ids(&workspace, "?userId=ann").await, e((0..5).rev()));
    assert_eq!(ids(&workspace, "?eventName=A").await, e([8, 6, 4, 2, 0]));
    assert_eq!(ids(&workspace, "?userId=bob&eventName=A").await, e([8, 6]));
    assert_eq!(ids(&workspace, "?userId=unknown").await, e([]));
    // An empty filter is no filter.
    assert_eq!(ids(&workspace, "?userId=&eventName=").await.len(), 10);
}

#[tokio::test]
async fn both_ends_of_a_date_range_are_inclusive_to_the_millisecond() {
    let workspace = ten_events().await;
    let range = "?startDate=2026-03-01T12:03:00.500Z&endDate=2026-03-01T12:05:00.500Z";
    assert_eq!(ids(&workspace, range).await, e([5, 4, 3]));
    let range = "?startDate=2026-03-01T12:03:00.501Z&endDate=2026-03-01T12:05:00.499Z";
    assert_eq!(ids(&workspace, range).await, e([4]));
    // A date alone ends with its day, and starts with it.
    assert_eq!(ids(&workspace, "?endDate=2026-03-01").await.len(), 10);
    assert_eq!(ids(&workspace, "?startDate=2026-03-01").await.len(), 10);
    assert_eq!(ids(&workspace, "?endDate=2026-02-28").await.len(), 0);
    assert_eq!(ids(&workspace, "?startDate=2026-03-02").await.len(), 0);
}

#[tokio::test]
async fn bad_dates_are_refused_and_name_the_field() {
    let workspace = Workspace::new().await;
    for (query, field) in [
        ("?startDate=soon", "startDate"),
        ("?endDate=2026-02-30", "endDate"),
        ("?startDate=2026-03-02&endDate=2026-03-01", "startDate"),
    ] {
        let errors = workspace.api.get(format!("/events/query{query}"), 400).await.errors();
        assert_eq!(errors.len(), 1, "{query}: {errors:?}");
        assert!(errors[0].starts_with(field), "{query}: {errors:?}");
    }
}

#[tokio::test]
async fn limits_are_clamped_and_pages_do_not_overlap() {
    let workspace = ten_events().await;
    assert_eq!(ids(&workspace, "?limit=3").await, e([9, 8, 7]));
    assert_eq!(ids(&workspace, "?limit=3&offset=3").await, e([6, 5, 4]));
    assert_eq!(ids(&workspace, "?limit=3&offset=9").await, e([0]));
    assert_eq!(ids(&workspace, "?offset=10").await, e([]));
    for all in [
        "?limit=abc",
        "?limit=0",
        "?limit=-5",
        "?limit=1001",
        "?limit=99999999999999999999",
        "?offset=-1",
        "?offset=x",
    ] {
        assert_eq!(ids(&workspace, all).await.len(), 10, "{all}");
    }
}

#[tokio::test]
async fn the_default_page_is_100_and_the_largest_1000() {
    let workspace = Workspace::new().await;
    for part in 0..3 {
        let batch: Vec<Value> = (0..400)
            .map(|n| {
                json!({"userId": "ann", "eventName": "A", "clientEventId": format!("{part}-{n}"),
                            "timestamp": 1_772_366_400_000_i64 + i64::from(part * 400 + n)})
            })
            .collect();
        workspace.api.post("/events/track", &Value::Array(batch), 200).await;
    }
    events_of(&workspace, 1000).await;
    crate::kit::eventually("all are visible", || async {
        let second = ids(&workspace, "?limit=1000&offset=1000").await;
        (second.len() == 200).then_some(())
    })
    .await;
    assert_eq!(ids(&workspace, "").await.len(), 100);
    assert_eq!(ids(&workspace, "?limit=1001").await.len(), 1000);
    // Pages of equal times still have one order.
    let mut seen: Vec<String> = Vec::new();
    for offset in (0..1200).step_by(100) {
        seen.extend(ids(&workspace, &format!("?offset={offset}")).await);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 1200);
}
