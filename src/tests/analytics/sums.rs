//! Counts, sums and filters of aggregates.

use analytics::events::{Aggregate, Metric, Unit};
use serde_json::{Value, json};
use uuid::Uuid;

use super::fixture::{asked, counted, event, filtered, insert, measured, ms, text, total};
use crate::kit;

const AT: &str = "2024-01-05T10:00:00Z";

/// One event of each properties object, on one day.
async fn seen(analytics: &analytics::Analytics, properties: &[Value]) -> Uuid {
    let workspace = Uuid::now_v7();
    let events = properties.iter().enumerate();
    let events: Vec<_> = events
        .map(|(number, one)| event(workspace, "Seen", &format!("e{number}"), AT).with(one.clone()))
        .collect();
    insert(analytics, &events).await;
    workspace
}

#[tokio::test]
async fn decimals_add_up_without_drift() {
    let analytics = kit::clickhouse_database().await;
    let cases: [(Vec<Value>, &str); 12] = [
        (vec![json!(0.1), json!(0.2)], "0.3"),
        (vec![json!(0.1); 10], "1"),
        (vec![json!(123_456.1); 1000], "123456100"),
        (vec![json!(19.99); 1001], "20009.99"),
        (vec![json!(-0.1), json!(0.1)], "0"),
        (vec![json!(0.000_000_4); 5], "0.000002"),
        (vec![json!(2.3e-6); 10], "0.000023"),
        (vec![json!(12_345_678_901.23); 100], "1234567890123"),
        (vec![json!(999_999_999_999_999_i64), json!(1)], "1000000000000000"),
        (vec![json!(1e20), json!(0.5)], "100000000000000000000.5"),
        (vec![json!(100)], "100"),
        (vec![json!(4_503_599_627_370_497.5_f64), json!(-4_503_599_627_370_497.5_f64)], "0"),
    ];
    for (values, expected) in cases {
        let properties: Vec<Value> = values.iter().map(|value| json!({"v": value})).collect();
        let workspace = seen(&analytics, &properties).await;
        let rows = asked(&analytics, workspace, &measured("Seen", "v")).await;
        assert_eq!(text(rows[0].sum.as_ref()), Some(expected), "{:?}", values[0]);
        let written: Vec<Value> =
            values.iter().map(|value| json!({"v": value.to_string()})).collect();
        let workspace = seen(&analytics, &written).await;
        let rows = asked(&analytics, workspace, &measured("Seen", "v")).await;
        assert_eq!(text(rows[0].sum.as_ref()), Some(expected), "text {:?}", values[0]);
    }
}

#[tokio::test]
async fn only_numbers_and_numeric_texts_are_summed() {
    let analytics = kit::clickhouse_database().await;
    let workspace = seen(
        &analytics,
        &[
            json!({"v": 1}),
            json!({"v": "2.5"}),
            json!({"v": " -4e0 "}),
            json!({"v": "+.5"}),
            json!({"v": "7."}),
            json!({"v": "x"}),
            json!({"v": ""}),
            json!({"v": "0x10"}),
            json!({"v": "1,5"}),
            json!({"v": "inf"}),
            json!({"v": "nan"}),
            json!({"v": "1e9999"}),
            json!({"v": "1 2"}),
            json!({"v": "١"}),
            json!({"v": true}),
            json!({"v": null}),
            json!({"v": [9]}),
            json!({"v": {"w": 9}}),
            json!({"w": 9}),
        ],
    )
    .await;
    let rows = asked(&analytics, workspace, &measured("Seen", "v")).await;
    let row = &rows[0];
    assert_eq!(row.count, 19);
    assert_eq!(text(row.sum.as_ref()), Some("7"));
    assert_eq!(text(row.avg.as_ref()), Some("1.4"));
    assert_eq!(text(row.min.as_ref()), Some("-4"));
    assert_eq!(text(row.max.as_ref()), Some("7"));
}

#[tokio::test]
async fn the_sum_of_no_numbers_is_zero_and_the_rest_is_absent() {
    let analytics = kit::clickhouse_database().await;
    let workspace = seen(&analytics, &[json!({"v": "x"}), json!({})]).await;
    let rows = asked(&analytics, workspace, &measured("Seen", "v")).await;
    let row = &rows[0];
    assert_eq!((row.count, text(row.sum.as_ref())), (2, Some("0")));
    assert_eq!((&row.avg, &row.min, &row.max), (&None, &None, &None));
    assert!(asked(&analytics, workspace, &measured("Never", "v")).await.is_empty());
}

#[tokio::test]
async fn each_metric_reads_its_own_field() {
    let analytics = kit::clickhouse_database().await;
    let workspace = seen(
        &analytics,
        &[
            json!({"a": 1, "b": 10, "c": 100, "d": {"e": 5}}),
            json!({"a": 2, "b": 20, "c": 200, "d": {"e": 6}}),
        ],
    )
    .await;
    let question = Aggregate {
        metrics: vec![Metric::Count, Metric::Sum, Metric::Avg, Metric::Min, Metric::Max],
        sum_field: Some("a".to_owned()),
        avg_field: Some("b".to_owned()),
        min_field: Some("c".to_owned()),
        max_field: Some("d.e".to_owned()),
        ..counted("Seen")
    };
    let rows = asked(&analytics, workspace, &question).await;
    let figures = [&rows[0].sum, &rows[0].avg, &rows[0].min, &rows[0].max]
        .map(|figure| text(figure.as_ref()));
    assert_eq!(figures, [Some("3"), Some("15"), Some("100"), Some("6")]);
}

#[tokio::test]
async fn filters_are_equality_with_type() {
    let analytics = kit::clickhouse_database().await;
    let workspace = seen(
        &analytics,
        &[
            json!({"v": 1, "w": "x"}),
            json!({"v": "1"}),
            json!({"v": true}),
            json!({"v": null}),
            json!({"v": "true"}),
            json!({"v": "null"}),
            json!({"v": [1]}),
            json!({"v": {"a": 1}}),
            json!({"v": {"a": "x"}}),
            json!({"v.a": "x"}),
            json!({"v": ""}),
            json!({"v": 1.5, "w": "x"}),
            json!({"v": 1.0}),
            json!({"v": "1.0"}),
            json!({}),
            json!({"v": false}),
        ],
    )
    .await;
    let cases = [
        (json!({}), 16),
        (json!({"v": 1}), 2),
        (json!({"v": "1"}), 1),
        (json!({"v": true}), 1),
        (json!({"v": false}), 1),
        (json!({"v": null}), 1),
        (json!({"v": "true"}), 1),
        (json!({"v": "null"}), 1),
        (json!({"v": ""}), 1),
        (json!({"v": [1, "1", true]}), 4),
        (json!({"v": []}), 0),
        (json!({"v": 1.5}), 1),
        (json!({"v": 2}), 0),
        (json!({"v.a": 1}), 1),
        (json!({"v.a": "x"}), 2),
        (json!({"v": {"a": "x"}}), 2),
        (json!({"v": {"a": null}}), 0),
        (json!({"w": "x"}), 2),
        (json!({"v": [1, 1.5], "w": "x"}), 2),
        (json!({"v": "1", "w": "x"}), 0),
        (json!({"z": null}), 0),
    ];
    for (properties, expected) in cases {
        let found = total(&analytics, workspace, &filtered("Seen", properties.clone())).await;
        assert_eq!(found, expected, "{properties}");
    }
}

#[tokio::test]
async fn periods_ascend_and_start_at_calendar_boundaries() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    let times = [
        "2023-12-31T23:59:59.999Z",
        "2024-01-01T00:00:00Z",
        "2024-01-07T23:59:59.999Z",
        "2024-01-08T00:00:00Z",
        "2024-02-29T12:34:56Z",
    ];
    let events: Vec<_> = times.iter().map(|at| event(workspace, "Seen", at, at)).collect();
    insert(&analytics, &events).await;
    let cases: [(Unit, &[(&str, u64)]); 4] = [
        (
            Unit::Hour,
            &[
                ("2023-12-31T23:00:00Z", 1),
                ("2024-01-01T00:00:00Z", 1),
                ("2024-01-07T23:00:00Z", 1),
                ("2024-01-08T00:00:00Z", 1),
                ("2024-02-29T12:00:00Z", 1),
            ],
        ),
        (
            Unit::Day,
            &[
                ("2023-12-31T00:00:00Z", 1),
                ("2024-01-01T00:00:00Z", 1),
                ("2024-01-07T00:00:00Z", 1),
                ("2024-01-08T00:00:00Z", 1),
                ("2024-02-29T00:00:00Z", 1),
            ],
        ),
        (
            Unit::Week,
            &[
                ("2023-12-25T00:00:00Z", 1),
                ("2024-01-01T00:00:00Z", 2),
                ("2024-01-08T00:00:00Z", 1),
                ("2024-02-26T00:00:00Z", 1),
            ],
        ),
        (
            Unit::Month,
            &[
                ("2023-12-01T00:00:00Z", 1),
                ("2024-01-01T00:00:00Z", 3),
                ("2024-02-01T00:00:00Z", 1),
            ],
        ),
    ];
    for (group_by, expected) in cases {
        let rows = asked(&analytics, workspace, &Aggregate { group_by, ..counted("Seen") }).await;
        let found: Vec<_> = rows.iter().map(|row| (row.period_ms, row.count)).collect();
        let expected: Vec<_> = expected.iter().map(|(at, count)| (ms(at), *count)).collect();
        assert_eq!(found, expected, "{group_by:?}");
        let filled = asked(
            &analytics,
            workspace,
            &Aggregate { group_by, fill_gaps: true, ..counted("Seen") },
        )
        .await;
        let kept: Vec<_> = filled
            .iter()
            .filter(|row| row.count > 0)
            .map(|row| (row.period_ms, row.count))
            .collect();
        assert_eq!(kept, expected, "{group_by:?}");
        assert!(filled.len() > expected.len() || group_by == Unit::Month);
    }
}

#[tokio::test]
async fn a_range_includes_both_ends() {
    let analytics = kit::clickhouse_database().await;
    let workspace = seen(&analytics, &[json!({})]).await;
    for (start, end, expected) in [(0, 0, 1), (1, 1, 0), (-1, -1, 0), (-1, 1, 1), (1, -1, 0)] {
        let question = Aggregate {
            start_ms: Some(ms(AT) + start),
            end_ms: Some(ms(AT) + end),
            ..counted("Seen")
        };
        assert_eq!(total(&analytics, workspace, &question).await, expected, "{start} {end}");
    }
}
