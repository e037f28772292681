//! `POST /events/aggregate`: units, metrics, fields, filters, orders.

use serde_json::{Value, json};

use super::track::events_of;
use crate::kit::Workspace;

async fn workspace_with(events: &[Value]) -> Workspace {
    let workspace = Workspace::new().await;
    let verdict = workspace.api.post("/events/track", &json!(events), 200).await.json();
    assert_eq!(verdict["accepted"], events.len(), "{verdict}");
    events_of(&workspace, events.len()).await;
    workspace
}

fn purchase(at: &str, properties: Value) -> Value {
    json!({"userId": "ann", "eventName": "Product Purchased", "timestamp": at, "properties": properties})
}

async fn ask(workspace: &Workspace, question: Value) -> Value {
    let answer = workspace.api.post("/events/aggregate", &question, 200).await.json();
    assert_eq!(answer["success"], true);
    answer["data"].clone()
}

#[tokio::test]
async fn counts_by_day_are_the_default() {
    let workspace = workspace_with(&[
        purchase("2026-03-01T00:00:00Z", json!({})),
        purchase("2026-03-01T23:59:59.999Z", json!({})),
        purchase("2026-03-03T12:00:00Z", json!({})),
    ])
    .await;
    let data = ask(&workspace, json!({"eventName": "Product Purchased"})).await;
    assert_eq!(
        data,
        json!({
            "eventName": "Product Purchased", "groupBy": "day", "metrics": ["count"], "total": 3,
            "results": [
                {"period": "2026-03-01T00:00:00.000Z", "count": 2},
                {"period": "2026-03-03T00:00:00.000Z", "count": 1},
            ],
        })
    );
    let filled = json!({"eventName": "Product Purchased", "fillGaps": true});
    let counts: Vec<_> = ask(&workspace, filled).await["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| bucket["count"].clone())
        .collect();
    assert_eq!(counts, [2, 0, 1]);
    let none = ask(&workspace, json!({"eventName": "Never"})).await;
    assert_eq!((none["results"].clone(), none["total"].clone()), (json!([]), json!(0)));
}

#[tokio::test]
async fn buckets_start_at_utc_boundaries_and_weeks_on_monday() {
    let workspace = workspace_with(&[purchase("2026-03-18T14:45:10Z", json!({}))]).await;
    for (unit, period) in [
        ("hour", "2026-03-18T14:00:00.000Z"),
        ("day", "2026-03-18T00:00:00.000Z"),
        ("week", "2026-03-16T00:00:00.000Z"),
        ("month", "2026-03-01T00:00:00.000Z"),
    ] {
        let data =
            ask(&workspace, json!({"eventName": "Product Purchased", "groupBy": unit})).await;
        assert_eq!(data["groupBy"], unit);
        assert_eq!(data["results"], json!([{"period": period, "count": 1}]), "{unit}");
    }
}

#[tokio::test]
async fn metrics_take_numbers_and_numeric_strings_and_do_not_drift() {
    let at = "2026-03-01T12:00:00Z";
    let workspace = workspace_with(&[
        purchase(at, json!({"price": 0.1, "deep": {"n": 4}})),
        purchase(at, json!({"price": "0.2", "deep": {"n": 6}})),
        purchase(at, json!({"price": true})),
        purchase(at, json!({"price": "cheap"})),
        purchase(at, json!({})),
    ])
    .await;
    let question = json!({"eventName": "Product Purchased", "sumField": "price",
                          "metrics": ["count", "sum", "avg", "min", "max"]});
    let data = ask(&workspace, question).await;
    assert_eq!(
        data["results"],
        json!([{"period": "2026-03-01T00:00:00.000Z", "count": 5, "sum_value": 0.3,
                "avg_value": 0.15, "min_value": 0.1, "max_value": 0.2}])
    );
    // Dot paths reach into objects; avgField serves for the others where sumField is absent.
    let question = json!({"eventName": "Product Purchased", "avgField": "deep.n", "metrics": ["avg", "min", "sum"]});
    let bucket = &ask(&workspace, question).await["results"][0];
    assert_eq!(
        bucket,
        &json!({"period": "2026-03-01T00:00:00.000Z", "count": 5, "avg_value": 5,
                               "min_value": 4, "sum_value": 10})
    );
    // Fields of their own for min and max.
    let question = json!({"eventName": "Product Purchased", "sumField": "price", "minField": "deep.n",
                          "maxField": "deep.n", "metrics": ["sum", "min", "max"]});
    let bucket = &ask(&workspace, question).await["results"][0];
    assert_eq!(
        (&bucket["sum_value"], &bucket["min_value"], &bucket["max_value"]),
        (&json!(0.3), &json!(4), &json!(6))
    );
    // No numbers at all: the sum is 0, the others are null.
    let question = json!({"eventName": "Product Purchased", "sumField": "colour", "metrics": ["sum", "avg", "min", "max"]});
    let bucket = &ask(&workspace, question).await["results"][0];
    assert_eq!(bucket["sum_value"], 0);
    for metric in ["avg_value", "min_value", "max_value"] {
        assert_eq!(bucket.get(metric), Some(&Value::Null), "{metric}");
    }
}

#[tokio::test]
async fn property_filters_are_typed_listed_and_nested() {
    let at = "2026-03-01T12:00:00Z";
    let workspace = workspace_with(&[
        purchase(at, json!({"sku": "a", "n": 1, "gift": true, "to": {"country": "DE"}})),
        purchase(at, json!({"sku": "b", "n": "1", "gift": false, "to": {"country": "FR"}})),
        purchase(at, json!({"sku": "c", "n": null})),
    ])
    .await;
    for (filter, expected) in [
        (json!({"sku": "a"}), 1),
        (json!({"sku": ["a", "c"]}), 2),
        (json!({"n": 1}), 1),
        (json!({"n": "1"}), 1),
        (json!({"n": 1.0}), 1),
        (json!({"gift": true}), 1),
        (json!({"to.country": "FR"}), 1),
        (json!({"sku": "a", "n": "1"}), 0),
        (json!({"sku' or 1=1 --": "a"}), 0),
        (json!({}), 3),
    ] {
        let question = json!({"eventName": "Product Purchased", "eventProperties": filter});
        assert_eq!(ask(&workspace, question).await["total"], expected, "{filter}");
    }
}

#[tokio::test]
async fn an_order_counts_once_by_its_id_and_the_first_arrival_stays() {
    let workspace = Workspace::new().await;
    let order = |id: Option<&str>, total: f64, at: &str| {
        let mut properties = json!({"total": total, "currency": "EUR"});
        if let Some(id) = id {
            properties["orderId"] = json!(id);
        }
        json!({"userId": "ann", "eventName": "Order Completed", "timestamp": at, "properties": properties})
    };
    for event in [
        order(Some("o-1"), 10.10, "2026-03-01T12:00:00Z"),
        order(Some("o-1"), 99.0, "2026-02-01T12:00:00Z"),
        order(Some("o-2"), 20.20, "2026-03-02T12:00:00Z"),
        order(None, 1.0, "2026-03-02T13:00:00Z"),
        order(None, 2.0, "2026-03-02T14:00:00Z"),
    ] {
        workspace.api.post("/events/track", &event, 200).await;
    }
    events_of(&workspace, 5).await;
    let question = json!({"eventName": "Order Completed", "groupBy": "month", "metrics": ["count", "sum"], "sumField": "total"});
    let data = ask(&workspace, question).await;
    assert_eq!(data["total"], 4);
    assert_eq!(
        data["results"],
        json!([{"period": "2026-03-01T00:00:00.000Z", "count": 4, "sum_value": 33.3}])
    );
    // The later arrival is no order even where only it would match.
    let question = json!({"eventName": "Order Completed", "endDate": "2026-02-28"});
    assert_eq!(ask(&workspace, question).await["total"], 0);
    // Another name is never an order.
    let twice = json!({"userId": "ann", "eventName": "Order Placed", "properties": {"orderId": "o-9", "total": 5}});
    workspace.api.post("/events/track", &json!([twice, twice]), 200).await;
    events_of(&workspace, 7).await;
    assert_eq!(ask(&workspace, json!({"eventName": "Order Placed"})).await["total"], 2);
}

#[tokio::test]
async fn date_bounds_are_inclusive() {
    let workspace = workspace_with(&[
        purchase("2026-03-01T12:00:00Z", json!({})),
        purchase("2026-03-02T12:00:00Z", json!({})),
        purchase("2026-03-03T12:00:00Z", json!({})),
    ])
    .await;
    let between = |start: &str, end: &str| json!({"eventName": "Product Purchased", "startDate": start, "endDate": end});
    assert_eq!(ask(&workspace, between("2026-03-01", "2026-03-02")).await["total"], 2);
    assert_eq!(
        ask(&workspace, between("2026-03-02T12:00:00Z", "2026-03-02T12:00:00Z")).await["total"],
        1
    );
    let errors = workspace
        .api
        .post("/events/aggregate", &between("2026-03-02", "2026-03-01"), 400)
        .await
        .errors();
    assert!(errors[0].starts_with("startDate"), "{errors:?}");
}

#[tokio::test]
async fn invalid_aggregate_queries_name_each_failed_field() {
    let workspace = Workspace::new().await;
    for (question, fields) in [
        (json!({}), vec!["eventName"]),
        (json!({"eventName": ""}), vec!["eventName"]),
        (json!({"eventName": 1}), vec!["eventName"]),
        (json!({"eventName": "A", "groupBy": "year"}), vec!["groupBy"]),
        (
            json!({"eventName": "A", "groupBy": 1, "startDate": "soon", "endDate": 1}),
            vec!["startDate", "endDate", "groupBy"],
        ),
        (json!({"eventName": "A", "metrics": "count"}), vec!["metrics"]),
        (json!({"eventName": "A", "metrics": []}), vec!["metrics"]),
        (json!({"eventName": "A", "metrics": ["median"]}), vec!["metrics[0]"]),
        (json!({"eventName": "A", "sumField": 1}), vec!["sumField"]),
        (json!({"eventName": "A", "eventProperties": []}), vec!["eventProperties"]),
        (json!({"eventName": "A", "eventProperties": {"a": [{}]}}), vec!["eventProperties.a"]),
        (
            json!({"eventName": "A", "eventProperties": {"a": {"b": [[1]]}}}),
            vec!["eventProperties.a.b"],
        ),
        (
            json!({"eventName": "A", "metrics": ["min"]}),
            vec!["sumField or avgField is required for metric min"],
        ),
    ] {
        let errors = workspace.api.post("/events/aggregate", &question, 400).await.errors();
        assert_eq!(errors.len(), fields.len(), "{question}: {errors:?}");
        for (error, field) in errors.iter().zip(fields) {
            assert!(error.starts_with(field), "{question}: {errors:?}");
        }
    }
}
