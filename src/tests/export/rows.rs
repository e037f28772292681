//! Which rows an export has, in which order, and what stands in them.

use serde_json::{Value, json};

use super::fixture::{column, open, rows, shop, track};
use crate::kit::Workspace;

#[tokio::test]
async fn an_event_is_exported_with_all_that_is_stored() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let mut again = shop();
    again.extend(shop().into_iter().filter(|event| !event["clientEventId"].is_null()));
    track(&workspace, &again, 8).await;
    track(&other, &shop()[..2], 2).await;
    let rows = rows(&workspace.api, "").await;
    let ids = column(&rows, "event_id");
    assert_eq!(ids.len(), 8);
    // The second one has an id of the server, which sorts before those of a later time only.
    let known: Vec<&str> = ids.iter().copied().filter(|id| id.len() < 36).collect();
    assert_eq!(known, ["v-1", "c-1", "c-1", "o-1", "o-2", "o-3", "o-4"]);
    let mut viewed = rows[0].clone();
    let received_at = viewed["received_at"].take();
    assert!(received_at.as_str().unwrap().ends_with('Z'), "{received_at}");
    let cursor = viewed["cursor"].take();
    assert!(!cursor.as_str().unwrap().is_empty());
    let properties = shop()[0]["properties"].clone();
    let expected = json!({
        "event_id": "v-1", "event_name": "Page Viewed", "person_id": "ann", "user_id": "ann",
        "anonymous_id": "cookie", "service_user_id": "", "alias_label": "", "alias_name": "", "session_id": "s",
        "device_id": "d", "timestamp": "2026-03-01T10:00:00.000Z", "received_at": null, "properties": properties,
        "numbers": {"nested.n": 1.5}, "order_id": "", "revenue": null, "currency": "", "cursor": null,
    });
    assert_eq!(viewed, expected);
    let of = |id: &str| rows.iter().find(|row| row["event_id"] == id).unwrap();
    let money = |id| {
        let row = of(id);
        [row["order_id"].clone(), row["revenue"].clone(), row["currency"].clone()]
    };
    assert_eq!(money("o-1"), [json!("1001"), json!(49.9), json!("EUR")]);
    assert_eq!(money("o-2"), [json!("1001"), json!(10), json!("")]);
    assert_eq!(money("o-3"), [json!(""), json!(0.1234), json!("USD")]);
    assert_eq!(money("o-4"), [json!(""), Value::Null, json!("")]);
    let called = rows.iter().find(|row| row["alias_name"] == "77").unwrap();
    assert_eq!((&called["alias_label"], &called["person_id"]), (&json!("crm"), &json!("77")));
}

#[tokio::test]
async fn an_export_goes_on_after_the_cursor_of_every_row() {
    let workspace = Workspace::new().await;
    track(&workspace, &shop(), 8).await;
    let all = rows(&workspace.api, "").await;
    for (at, row) in all.iter().enumerate() {
        let cursor = row["cursor"].as_str().unwrap();
        let rest = rows(&workspace.api, &format!("?cursor={cursor}")).await;
        assert_eq!(rest, all[at + 1..], "after row {at}");
    }
    let cursor = all[4]["cursor"].as_str().unwrap();
    let bounded = rows(&workspace.api, &format!("?cursor={cursor}&to=2026-03-31")).await;
    assert_eq!(column(&bounded, "event_id"), ["o-2"]);
}

#[tokio::test]
async fn a_range_and_a_name_narrow_an_export() {
    let workspace = Workspace::new().await;
    track(&workspace, &shop(), 8).await;
    let cases: [(&str, &[&str]); 7] = [
        ("?eventName=Called", &["c-1", "c-1"]),
        ("?eventName=called", &[]),
        ("?from=2026-03-03&to=2026-03-04", &["o-1", "o-2"]),
        ("?from=2026-03-03T12:00:00.000Z&to=2026-03-04T12:00:00.000Z", &["o-1", "o-2"]),
        ("?from=2026-03-03T12:00:00.001Z&to=2026-03-04T11:59:59.999Z", &[]),
        ("?to=2026-03-02&eventName=Called", &["c-1", "c-1"]),
        ("?from=2026-04-01&eventName=Order%20Completed", &["o-3", "o-4"]),
    ];
    for (query, expected) in cases {
        assert_eq!(column(&rows(&workspace.api, query).await, "event_id"), expected, "{query}");
    }
}

#[tokio::test]
async fn nothing_is_exported_of_another_workspace() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    track(&workspace, &shop(), 8).await;
    assert_eq!(rows(&other.api, "").await, [Value::Null; 0]);
    let cursor = rows(&workspace.api, "").await[0]["cursor"].as_str().unwrap().to_owned();
    assert_eq!(rows(&other.api, &format!("?cursor={cursor}")).await, [Value::Null; 0]);
    let writer = workspace.with_scopes("events:write").await;
    assert_eq!(open(&writer, "", "*/*").await.status(), 403);
}
