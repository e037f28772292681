//! `POST /insights/trends`: intervals, metrics, breakdowns, comparison, orders.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{event, track, trends, values};
use crate::kit::{Workspace, eventually};

#[tokio::test]
async fn every_interval_is_there_and_totals_are_of_the_range() {
    let workspace = Workspace::new().await;
    track(
        &workspace,
        &[
            event("ann", "Viewed", "2026-03-01T00:00:00Z", json!({"n": 1.5})),
            event("ann", "Viewed", "2026-03-01T23:59:59.999Z", json!({"n": 2.5})),
            event("bob", "Viewed", "2026-03-03T12:00:00Z", json!({})),
            event("ann", "Viewed", "2026-03-03T12:00:00Z", json!({"n": "4"})),
            event("ann", "Other", "2026-03-02T12:00:00Z", json!({"n": 100})),
        ],
    )
    .await;
    let series = |metric: &str| match metric {
        "count" | "unique" | "perUser" => json!({"eventName": "Viewed", "metric": metric}),
        _ => json!({"eventName": "Viewed", "metric": metric, "field": "n"}),
    };
    let metrics = ["count", "unique", "perUser", "sum", "avg", "min", "max", "p50", "p99"];
    let question = json!({
        "series": metrics.map(series), "from": "2026-03-01", "to": "2026-03-03",
    });
    let answer = trends(&workspace, question).await;
    assert_eq!(
        answer["intervals"],
        json!(["2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"])
    );
    assert_eq!(
        values(&answer),
        [
            json!([2, 0, 2]),
            json!([1, 0, 2]),
            json!([2, null, 1]),
            json!([4, 0, 4]),
            json!([2, null, 4]),
            json!([1.5, null, 4]),
            json!([2.5, null, 4]),
            json!([2, null, 4]),
            json!([2.49, null, 4]),
        ]
    );
    let totals: Vec<Value> =
        answer["series"].as_array().unwrap().iter().map(|it| it["total"].clone()).collect();
    let third = 8.0 / 3.0;
    assert_eq!(json!(totals[..4]), json!([4, 2, 2, 8]));
    assert!((totals[4].as_f64().unwrap() - third).abs() < 1e-12);
    assert_eq!(json!(totals[5..8]), json!([1.5, 4, 2.5]));
    let first = &answer["series"][0];
    for (field, expected) in [
        ("label", json!("Viewed")),
        ("eventName", json!("Viewed")),
        ("metric", json!("count")),
        ("breakdown", Value::Null),
        ("other", json!(false)),
        ("compared", json!(false)),
    ] {
        assert_eq!(first[field], expected, "{field}");
    }
    let any = json!({"series": [{"label": "All"}], "interval": "none", "from": "2026-03-01", "to": "2026-03-03"});
    let answer = trends(&workspace, any).await;
    assert_eq!(
        (&answer["series"][0]["label"], &answer["series"][0]["values"]),
        (&json!("All"), &json!([5]))
    );
    assert_eq!(answer["series"][0]["eventName"], Value::Null);
}

#[tokio::test]
async fn intervals_are_of_the_clocks_of_a_time_zone() {
    let workspace = Workspace::new().await;
    // The clocks of New York go forward on the 8th of March 2026, at 07:00 UTC.
    let times = [
        "2026-03-08T04:59:59.999Z",
        "2026-03-08T05:00:00Z",
        "2026-03-09T03:59:59.999Z",
        "2026-03-09T04:00:00Z",
    ];
    let events: Vec<Value> = times.iter().map(|at| event("ann", "Seen", at, json!({}))).collect();
    track(&workspace, &events).await;
    let question = json!({"series": [{"eventName": "Seen"}], "from": "2026-03-07", "to": "2026-03-09", "timezone": "America/New_York"});
    let answer = trends(&workspace, question).await;
    assert_eq!(
        answer["intervals"],
        json!(["2026-03-07T05:00:00Z", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"])
    );
    assert_eq!(values(&answer), [json!([1, 2, 1])]);
    // The first interval begins where the calendar has it, and counts from the range on.
    let question = json!({"series": [{"eventName": "Seen"}], "interval": "week", "from": "2026-03-08T05:00:00Z", "to": "2026-03-09T04:00:00Z"});
    let answer = trends(&workspace, question).await;
    assert_eq!(answer["intervals"], json!(["2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"]));
    assert_eq!(values(&answer), [json!([1, 2])]);
    let to = json!({"series": [{"eventName": "Seen"}], "interval": "none", "from": "2026-03-08T04:59:59.999Z", "to": "2026-03-08T05:00:00Z"});
    assert_eq!(values(&trends(&workspace, to).await), [json!([2])], "both ends are included");
}

#[tokio::test]
async fn a_breakdown_has_the_largest_values_then_absence_and_the_rest() {
    let workspace = Workspace::new().await;
    let at = "2026-03-01T12:00:00Z";
    let mut events = Vec::new();
    for (country, count) in [("DE", 3), ("FR", 2), ("IT", 2), ("GB", 1)] {
        events.extend((0..count).map(|_| event("ann", "Seen", at, json!({"country": country}))));
    }
    events.push(event("bob", "Seen", at, json!({"country": null})));
    events.push(event("bob", "Seen", at, json!({})));
    events.push(event("bob", "Seen", at, json!({"country": "quo\"te\u{e9}\\"})));
    events.push(event("bob", "Seen", at, json!({"country": 7})));
    track(&workspace, &events).await;
    let question = |limit: u32| {
        json!({
            "series": [{"eventName": "Seen"}, {"eventName": "Seen", "metric": "unique"}], "interval": "none",
            "from": "2026-03-01", "to": "2026-03-01", "breakdown": {"property": "country", "limit": limit},
        })
    };
    let shown = |answer: &Value, from: usize, count: usize| -> Vec<Value> {
        let series = &answer["series"].as_array().unwrap()[from..from + count];
        series.iter().map(|it| json!([it["breakdown"], it["other"], it["total"]])).collect()
    };
    let answer = trends(&workspace, question(3)).await;
    assert_eq!(
        shown(&answer, 0, 5),
        [
            json!(["DE", false, 3]),
            json!(["FR", false, 2]),
            json!(["IT", false, 2]),
            json!([null, false, 2]),
            json!([null, true, 3])
        ]
    );
    // People of the rest are distinct people.
    assert_eq!(shown(&answer, 5, 5).last(), Some(&json!([null, true, 2])));
    let answer = trends(&workspace, question(10)).await;
    let texts: Vec<Value> = shown(&answer, 0, 7).iter().map(|it| it[0].clone()).collect();
    assert_eq!(json!(texts), json!(["DE", "FR", "IT", "7", "GB", "quo\"te\u{e9}\\", null]));
}

/// Properties as senders write them, each with the value that its event counts for.
const WRITTEN: [(&str, Option<&str>); 22] = [
    (r#"{"country":"DE"}"#, Some("DE")),
    (r#"{"country": "DE", "plan": "pro"}"#, Some("DE")),
    ("{\n  \"plan\": \"country\",\n  \"country\":\t\"DE\"\r\n}", Some("DE")),
    (r#"{"country" : "DE"}"#, Some("DE")),
    (r#"{"country": " DE "}"#, Some(" DE ")),
    (r#"{"country": "a [b, c} d", "plan": "x"}"#, Some("a [b, c} d")),
    (r#"{"country": "a {b", "plan": "x"}"#, Some("a {b")),
    (r#"{"country": 7 }"#, Some("7")),
    (r#"{"country": 49.90}"#, Some("49.9")),
    (r#"{"country": 49.90, "context": {"a": 1}}"#, Some("49.9")),
    (r#"{"country": 1.0}"#, Some("1")),
    (r#"{"country": 1.0, "plan": []}"#, Some("1")),
    (r#"{"country": -1e2}"#, Some("-100")),
    (r#"{"country": -1e2, "plan": []}"#, Some("-100")),
    (r#"{"country": "49.90"}"#, Some("49.90")),
    (r#"{"country": 9007199254740993, "plan": []}"#, Some("9007199254740993")),
    (r#"{"country": [ "a", 1 ] , "plan": 1}"#, Some(r#"["a",1]"#)),
    (r#"{"plan": {"country": "no"}, "country": true}"#, Some("true")),
    (r#"{"country": null }"#, None),
    (r#"{"plan": "country"}"#, None),
    (r#"{"plan": ["country"], "other country": 1}"#, None),
    ("{ }", None),
];

#[tokio::test]
async fn a_breakdown_does_not_depend_on_how_the_json_is_written() {
    let workspace = Workspace::new().await;
    let written = |(properties, _): &(&str, _)| {
        format!(
            r#"{{"userId": "ann", "eventName": "Written", "timestamp": "2026-03-01T12:00:00Z", "properties": {properties}}}"#
        )
    };
    let events: Vec<String> = WRITTEN.iter().map(written).collect();
    let body = format!("[{}]", events.join(","));
    let answer = workspace.api.post_bytes("/events/track", body, 200).await;
    assert_eq!(answer.json()["accepted"], WRITTEN.len(), "{}", answer.text);
    eventually("they are stored", || async {
        let events = workspace.api.get("/events/query?limit=100", 200).await.json();
        (events.as_array().unwrap().len() == WRITTEN.len()).then_some(())
    })
    .await;
    track(&workspace, &[event("ann", "Other", "2026-03-01T12:00:00Z", json!({}))]).await;
    let question = json!({"series": [{"eventName": "Written"}], "interval": "none",
        "from": "2026-03-01", "to": "2026-03-01", "breakdown": {"property": "country", "limit": 100}});
    let answer = trends(&workspace, question).await;
    let found: BTreeMap<Option<&str>, u64> = answer["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["breakdown"].as_str(), it["total"].as_u64().unwrap()))
        .collect();
    let mut expected = BTreeMap::new();
    for (_, value) in WRITTEN {
        *expected.entry(value).or_insert(0) += 1;
    }
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_last_interval_that_is_longer_than_the_others_has_all_its_events() {
    let workspace = Workspace::new().await;
    let events: Vec<Value> = [
        ("ann", "2026-02-10T12:00:00Z"),
        ("bob", "2026-03-02T12:00:00Z"),
        ("carl", "2026-03-31T12:00:00Z"),
        ("ann", "2026-10-24T12:00:00Z"),
        ("bob", "2026-10-25T12:00:00Z"),
        // London's clocks have gone back: the day has an hour more.
        ("carl", "2026-10-25T23:30:00Z"),
    ]
    .into_iter()
    .map(|(user, at)| event(user, "Seen", at, json!({"plan": "pro"})))
    .collect();
    track(&workspace, &events).await;
    let months = json!({"interval": "month", "from": "2026-02-01", "to": "2026-03-31"});
    let march = json!({"interval": "month", "from": "2026-03-01", "to": "2026-03-31", "compare": "previous_period"});
    let days = json!({"interval": "day", "from": "2026-10-24", "to": "2026-10-25", "timezone": "Europe/London"});
    for (range, expected) in
        [(months, json!([[1, 2]])), (march, json!([[2], [1]])), (days, json!([[1, 2]]))]
    {
        for (metric, breakdown) in
            [("count", None), ("unique", None), ("unique", Some(json!({"property": "plan"})))]
        {
            let mut question = range.clone();
            question["series"] = json!([{"eventName": "Seen", "metric": metric}]);
            if let Some(breakdown) = breakdown {
                question["breakdown"] = breakdown;
            }
            let answer = trends(&workspace, question.clone()).await;
            assert_eq!(json!(values(&answer)), expected, "{question}");
            let totals: Vec<&Value> =
                answer["series"].as_array().unwrap().iter().map(|it| &it["total"]).collect();
            let sums: Vec<i64> = expected
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it.as_array().unwrap().iter().filter_map(Value::as_i64).sum())
                .collect();
            assert_eq!(json!(totals), json!(sums), "{question}");
        }
    }
}

#[tokio::test]
async fn a_series_is_compared_with_the_intervals_right_before() {
    let workspace = Workspace::new().await;
    let days = [
        ("2026-02-26", 1),
        ("2026-02-27", 2),
        ("2026-02-28", 3),
        ("2026-03-01", 4),
        ("2026-03-02", 5),
    ];
    let mut events = Vec::new();
    for (day, count) in days {
        events
            .extend((0..count).map(|_| {
                event("ann", "Seen", &format!("{day}T12:00:00Z"), json!({"plan": "pro"}))
            }));
    }
    events.push(event("ann", "Seen", "2026-02-28T12:00:00Z", json!({"plan": "old"})));
    track(&workspace, &events).await;
    let question = json!({"series": [{"eventName": "Seen"}], "from": "2026-03-01", "to": "2026-03-02", "compare": "previous_period"});
    let answer = trends(&workspace, question.clone()).await;
    assert_eq!(values(&answer), [json!([4, 5]), json!([2, 4])]);
    assert_eq!(
        json!([answer["series"][0]["compared"], answer["series"][1]["compared"]]),
        json!([false, true])
    );
    assert_eq!(answer["series"][1]["total"], 6);
    let mut by_plan = question.clone();
    by_plan["breakdown"] = json!({"property": "plan"});
    let answer = trends(&workspace, by_plan).await;
    let shown: Vec<Value> = answer["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!([it["breakdown"], it["other"], it["compared"], it["values"]]))
        .collect();
    assert_eq!(
        json!(shown),
        json!([
            ["pro", false, false, [4, 5]],
            ["pro", false, true, [2, 3]],
            [null, true, false, [0, 0]],
            [null, true, true, [0, 1]]
        ])
    );
    let mut total = question;
    total["interval"] = json!("none");
    let answer = trends(&workspace, total).await;
    assert_eq!(values(&answer), [json!([9]), json!([6])]);
}

#[tokio::test]
async fn an_order_counts_once_and_filters_see_its_first_arrival() {
    let workspace = Workspace::new().await;
    let order = |id: &str, at: &str, total: f64| {
        event(
            "ann",
            "Order Completed",
            at,
            json!({"orderId": id, "total": total, "currency": "EUR"}),
        )
    };
    track(&workspace, &[order("o1", "2026-03-01T10:00:00Z", 10.0)]).await;
    track(
        &workspace,
        &[order("o1", "2026-03-02T10:00:00Z", 99.0), order("o2", "2026-03-02T11:00:00Z", 20.5)],
    )
    .await;
    let question = |filters: Value| {
        json!({
            "series": [{"eventName": "Order Completed", "metric": "sum", "field": "total", "filters": filters}],
            "from": "2026-03-01", "to": "2026-03-02",
        })
    };
    assert_eq!(values(&trends(&workspace, question(json!([]))).await), [json!([10, 20.5])]);
    let large = json!([{"property": "total", "operator": "gt", "value": 50}]);
    assert_eq!(values(&trends(&workspace, question(large)).await), [json!([0, 0])]);
    let any = json!({"series": [{}], "from": "2026-03-01", "to": "2026-03-02"});
    assert_eq!(values(&trends(&workspace, any).await), [json!([1, 1])]);
}

#[tokio::test]
async fn orders_among_other_events_count_once_and_people_of_later_arrivals_do_not() {
    let workspace = Workspace::new().await;
    let order = |user: &str, id: &str, at: &str| {
        event(user, "Order Completed", at, json!({"orderId": id, "total": 1, "currency": "EUR"}))
    };
    let seen = |user: &str, at: &str| event(user, "Seen", at, json!({}));
    track(
        &workspace,
        &[
            order("ann", "o1", "2026-02-28T23:59:59.999Z"),
            order("ann", "o2", "2026-03-01T00:00:00Z"),
            seen("ann", "2026-03-01T10:00:00Z"),
        ],
    )
    .await;
    track(
        &workspace,
        &[
            // Later arrivals, of one order whose first lies before the range and of one whose first lies in it.
            order("bob", "o1", "2026-03-01T12:00:00Z"),
            order("cid", "o2", "2026-03-02T12:00:00Z"),
            order("dan", "o3", "2026-03-02T23:59:59.999Z"),
            seen("ann", "2026-03-02T10:00:00Z"),
            seen("eve", "2026-03-02T11:00:00Z"),
        ],
    )
    .await;
    let question =
        |series: Value| json!({"series": series, "from": "2026-03-01", "to": "2026-03-02"});
    let all =
        json!([{}, {"metric": "unique"}, {"eventName": "Order Completed"}, {"eventName": "Seen"}]);
    let mut asked = question(all);
    let answer = trends(&workspace, asked.clone()).await;
    let expected = [json!([2, 3]), json!([1, 3]), json!([1, 1]), json!([1, 2])];
    assert_eq!(values(&answer), expected);
    assert_eq!(answer["series"][1]["total"], 3);
    asked["interval"] = json!("none");
    let totals = [json!([5]), json!([3]), json!([2]), json!([3])];
    assert_eq!(values(&trends(&workspace, asked).await), totals);
    let mut compared = question(json!([{}]));
    compared["compare"] = json!("previous_period");
    let answer = trends(&workspace, compared).await;
    // Before it are the first arrival of o1, and the marker of `track`.
    assert_eq!(values(&answer), [json!([2, 3]), json!([0, 2])]);
}

#[tokio::test]
async fn events_of_other_workspaces_are_not_counted() {
    let (own, other) = (Workspace::new().await, Workspace::new().await);
    track(&own, &[event("ann", "Seen", "2026-03-01T10:00:00Z", json!({}))]).await;
    track(&other, &[event("bob", "Seen", "2026-03-01T10:00:00Z", json!({}))]).await;
    let question =
        json!({"series": [{"metric": "unique"}], "from": "2026-03-01", "to": "2026-03-01"});
    assert_eq!(values(&trends(&own, question).await), [json!([1])]);
}

#[tokio::test]
async fn a_range_may_begin_before_1970() {
    let workspace = Workspace::new().await;
    track(&workspace, &[event("ann", "Seen", "2026-03-05T10:00:00Z", json!({}))]).await;
    let seen = json!({"eventName": "Seen"});
    // London was an hour ahead of UTC when 1970 began.
    for (last_of_path, question) in [
        ("trends", json!({"from": "1970-01-01", "timezone": "Europe/London", "interval": "month"})),
        ("trends", json!({"last": {"amount": 700, "unit": "months"}, "interval": "month"})),
        ("trends", json!({"last": {"amount": 5000, "unit": "weeks"}, "interval": "week"})),
        ("trends", json!({"from": "1995-01-01", "interval": "none", "compare": "previous_period"})),
        (
            "trends",
            json!({"from": "1998-01-01", "timezone": "Europe/Paris", "interval": "month", "compare": "previous_period"}),
        ),
        (
            "funnels",
            json!({"last": {"amount": 700, "unit": "months"}, "window": {"amount": 1, "unit": "hours"}}),
        ),
    ] {
        let mut question = question;
        match last_of_path {
            "trends" => question["series"] = json!([seen]),
            _ => question["steps"] = json!([seen, seen]),
        }
        let path = format!("/insights/{last_of_path}");
        let answer = workspace.api.post(&path, &question, 200).await.json();
        let found = match last_of_path {
            "trends" => &answer["series"][0]["total"],
            _ => &answer["entered"],
        };
        assert_eq!(found.as_f64(), Some(1.0), "{question}: {answer}");
    }
}
