//! Filters on properties: each operator on each type of value, compared with the rule of audiences.

use audience::model::Condition;
use kernel::Clock;
use serde_json::{Value, json};

use super::{event, track, trends};
use crate::kit::Workspace;

/// Values of the property `p`; `null` in the outer place means that it is absent.
fn property_values() -> Vec<Option<Value>> {
    let values = json!([
        null, true, false, 0, 1, -1, 1.0, 1.5, 9_007_199_254_740_993_u64, 9_007_199_254_740_992_u64, 18_446_744_073_709_551_615_u64,
        "", "1", "Ann", "ann", "Annabel", "d'or", "quo\"te", "\u{e9}t\u{e9}", "a\\b", "tab\there",
        "2026-03-01", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00+01:00", "2026-03-01T12:00:00.001Z", "2026-02-29",
        "2026-03-01 12:00", "1969-12-31T23:59:59.5Z", "2026-03-01T24:00Z", "0001-01-01", "9999-12-31T23:59:60Z",
        [], ["Ann", 1], [1.0, true], [["Ann"]], {"x": "Ann"}, {},
    ]);
    let present = values.as_array().unwrap().iter().cloned().map(Some);
    std::iter::once(None).chain(present).collect()
}

fn filters() -> Vec<Value> {
    let mut filters = Vec::new();
    let plain = [
        json!("Ann"),
        json!(""),
        json!("1"),
        json!(1),
        json!(1.5),
        json!(true),
        json!(9_007_199_254_740_993_u64),
        json!(18_446_744_073_709_551_615_u64),
    ];
    for operator in ["equals", "not_equals"] {
        filters.extend(plain.iter().map(|value| json!({"operator": operator, "value": value})));
    }
    for operator in ["contains", "not_contains"] {
        for value in [json!("nn"), json!("Ann"), json!(1), json!(true), json!("\\"), json!("'")] {
            filters.push(json!({"operator": operator, "value": value}));
        }
    }
    for (operator, value) in [
        ("starts_with", "Ann"),
        ("starts_with", "quo\""),
        ("ends_with", "bel"),
        ("ends_with", "\u{e9}"),
    ] {
        filters.push(json!({"operator": operator, "value": value}));
    }
    for operator in ["in", "not_in"] {
        filters.push(json!({"operator": operator, "value": ["Ann", 1, 1.5, false, 9_007_199_254_740_993_u64]}));
        filters.push(json!({"operator": operator, "value": ["none"]}));
    }
    for operator in ["gt", "gte", "lt", "lte"] {
        for value in [
            json!(1),
            json!(1.5),
            json!(-0.5),
            json!(9_007_199_254_740_992_u64),
            json!("2026-03-01"),
            json!("2026-03-01T12:00:00Z"),
        ] {
            filters.push(json!({"operator": operator, "value": value}));
        }
    }
    for value in [
        json!([0, 1.5]),
        json!(["2026-03-01", "2026-03-01"]),
        json!(["1969-01-01", "2026-03-01T12:00:00Z"]),
    ] {
        filters.push(json!({"operator": "between", "value": value}));
    }
    for operator in ["before", "after"] {
        filters.push(json!({"operator": operator, "value": "2026-03-01T12:00:00Z"}));
        filters.push(json!({"operator": operator, "value": "2026-03-01"}));
    }
    for operator in ["within_last", "not_within_last"] {
        filters.push(json!({"operator": operator, "value": {"amount": 1_000_000, "unit": "days"}}));
    }
    for operator in ["exists", "not_exists", "is_true", "is_false"] {
        filters.push(json!({"operator": operator}));
    }
    filters
}

#[tokio::test]
async fn every_operator_means_what_it_means_for_audiences() {
    let workspace = Workspace::new().await;
    let values = property_values();
    let property_objects: Vec<Value> = values
        .iter()
        .flat_map(|value| match value {
            None => vec![json!({}), json!({"o": {}})],
            // The path of two keys, and the key with a dot.
            Some(value) => vec![json!({"p": value, "o": {"p": value}}), json!({"o.p": value})],
        })
        .collect();
    let events: Vec<Value> = property_objects
        .iter()
        .enumerate()
        .map(|(place, properties)| {
            event(&format!("user-{place}"), "Valued", "2026-03-01T12:00:00Z", properties.clone())
        })
        .collect();
    track(&workspace, &events).await;
    let filters = filters();
    for path in ["p", "o.p"] {
        for page in filters.chunks(10) {
            let series: Vec<Value> = page
                .iter()
                .map(|filter| {
                    let mut filter = filter.clone();
                    filter["property"] = json!(path);
                    json!({"eventName": "Valued", "filters": [filter]})
                })
                .collect();
            let question = json!({"series": series, "interval": "none", "from": "2026-03-01", "to": "2026-03-01"});
            let answer = trends(&workspace, question).await;
            let now = Clock::system().now();
            for (filter, series) in page.iter().zip(answer["series"].as_array().unwrap()) {
                let mut condition = filter.clone();
                condition["field"] = json!(path);
                let condition: Condition = serde_json::from_value(condition).unwrap();
                let expected = property_objects
                    .iter()
                    .filter(|properties| condition.holds(properties.as_object().unwrap(), now))
                    .count();
                assert_eq!(series["total"], expected, "{path} {filter}");
            }
        }
    }
}
