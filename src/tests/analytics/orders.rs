//! `Order Completed` is counted once per order, and the first arrival is the order.

use analytics::events::{Metric, Unit};
use serde_json::{Value, json};
use uuid::Uuid;

use super::fixture::{
    Event, asked, counted, event, filtered, insert, measured, ms, stop_merges, text, total,
};
use crate::kit;

const NAME: &str = "Order Completed";

fn order(workspace: Uuid, id: &str, at: &str, properties: Value) -> Event {
    event(workspace, NAME, id, at).with(properties)
}

#[tokio::test]
async fn an_order_is_counted_once_by_its_first_arrival() {
    let analytics = kit::clickhouse_database().await;
    stop_merges(&analytics).await;
    let (workspace, stranger) = (Uuid::now_v7(), Uuid::now_v7());
    let first = json!({"orderId": "A", "total": 10.5});
    let again = json!({"orderId": "A", "total": 99});
    insert(&analytics, &[order(workspace, "e1", "2024-02-10T10:00:00Z", first.clone())]).await;
    insert(
        &analytics,
        &[
            // Another event, earlier by its own time, later by arrival, in another partition.
            order(workspace, "e2", "2024-01-01T00:00:00Z", again.clone()),
            order(workspace, "e3", "2024-02-10T12:00:00Z", again),
            // A repeat of the first.
            order(workspace, "e1", "2024-02-10T10:00:00Z", first),
            order(workspace, "e4", "2024-02-11T10:00:00Z", json!({"orderId": "B", "total": 1})),
            order(stranger, "e5", "2024-02-10T10:00:00Z", json!({"orderId": "A", "total": 7})),
        ],
    )
    .await;
    let rows = asked(&analytics, workspace, &measured(NAME, "total")).await;
    let sums: Vec<_> =
        rows.iter().map(|row| (row.period_ms, row.count, text(row.sum.as_ref()))).collect();
    assert_eq!(
        sums,
        [(ms("2024-02-10T00:00:00Z"), 1, Some("10.5")), (ms("2024-02-11T00:00:00Z"), 1, Some("1")),]
    );
    let theirs = asked(&analytics, stranger, &measured(NAME, "total")).await;
    assert_eq!(text(theirs[0].sum.as_ref()), Some("7"));
}

#[tokio::test]
async fn the_first_arrival_is_chosen_before_filters_apply() {
    // Otherwise a filter could bring a later duplicate back.
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    insert(
        &analytics,
        &[
            order(
                workspace,
                "e1",
                "2024-02-10T10:00:00Z",
                json!({"orderId": "A", "total": 1, "via": "web"}),
            ),
            order(
                workspace,
                "e2",
                "2024-02-20T10:00:00Z",
                json!({"orderId": "A", "total": 1, "via": "app"}),
            ),
        ],
    )
    .await;
    assert_eq!(total(&analytics, workspace, &filtered(NAME, json!({"via": "app"}))).await, 0);
    assert_eq!(total(&analytics, workspace, &filtered(NAME, json!({"via": "web"}))).await, 1);
    let later = analytics::events::Aggregate {
        start_ms: Some(ms("2024-02-15T00:00:00Z")),
        ..counted(NAME)
    };
    assert_eq!(total(&analytics, workspace, &later).await, 0);
}

#[tokio::test]
async fn an_event_without_an_order_id_is_an_order_of_its_own() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    insert(
        &analytics,
        &[
            order(workspace, "e1", "2024-02-10T10:00:00Z", json!({"total": 1})),
            order(workspace, "e2", "2024-02-10T10:00:00Z", json!({"total": 2})),
            order(workspace, "e2", "2024-02-10T10:00:00Z", json!({"total": 2})),
            // An order whose id is another event's id is not that event.
            order(workspace, "e3", "2024-02-10T10:00:00Z", json!({"orderId": "e1", "total": 4})),
        ],
    )
    .await;
    let rows = asked(&analytics, workspace, &measured(NAME, "total")).await;
    assert_eq!((rows[0].count, text(rows[0].sum.as_ref())), (3, Some("7")));
}

#[tokio::test]
async fn other_events_with_an_order_id_are_all_counted() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    for id in ["e1", "e2"] {
        let one = event(workspace, "Order Viewed", id, "2024-02-10T10:00:00Z");
        insert(&analytics, &[one.with(json!({"orderId": "A"}))]).await;
    }
    assert_eq!(total(&analytics, workspace, &counted("Order Viewed")).await, 2);
}

#[tokio::test]
async fn any_property_of_an_order_can_be_summed_in_every_unit() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    for number in 0..40 {
        let at = format!("2024-0{}-10T10:00:00Z", number % 4 + 1);
        let properties =
            json!({"orderId": format!("o{}", number / 2), "basket": {"items": number}});
        insert(&analytics, &[order(workspace, &format!("e{number}"), &at, properties)]).await;
    }
    for (group_by, buckets) in [(Unit::Hour, 2), (Unit::Day, 2), (Unit::Week, 2), (Unit::Month, 2)]
    {
        let question = analytics::events::Aggregate {
            group_by,
            metrics: vec![Metric::Max],
            max_field: Some("basket.items".to_owned()),
            ..counted(NAME)
        };
        let rows = asked(&analytics, workspace, &question).await;
        assert_eq!(rows.len(), buckets, "{group_by:?}");
        assert_eq!(text(rows[0].max.as_ref()), Some("36"));
        assert_eq!(rows[0].sum, None);
    }
}
