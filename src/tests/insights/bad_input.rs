//! What is refused, field by field.

use serde_json::{Value, json};

use crate::kit::Workspace;

fn trends(change: impl FnOnce(&mut Value)) -> Value {
    let mut question =
        json!({"series": [{"eventName": "Seen"}], "from": "2026-03-01", "to": "2026-03-02"});
    change(&mut question);
    question
}

fn funnel(change: impl FnOnce(&mut Value)) -> Value {
    let mut question = json!({
        "steps": [{"eventName": "A"}, {"eventName": "B"}], "window": {"amount": 1, "unit": "days"},
        "from": "2026-03-01", "to": "2026-03-02",
    });
    change(&mut question);
    question
}

fn retention(change: impl FnOnce(&mut Value)) -> Value {
    let mut question = json!({
        "start": {"eventName": "A"}, "return": {"eventName": "B"}, "from": "2026-03-01", "to": "2026-03-02",
    });
    change(&mut question);
    question
}

/// A question, and a part of the refusal that it gets.
type Refused<'a> = (Value, &'a str);

async fn all_refused(workspace: &Workspace, path: &str, cases: &[Refused<'_>]) {
    let mut wrong = Vec::new();
    for (question, expected) in cases {
        let text = workspace.api.post(path, question, 400).await.text;
        if !text.contains(expected) {
            wrong.push(format!("{expected:?} is not in {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn each_field_of_a_series_is_checked() {
    let workspace = Workspace::new().await;
    let filter = |filter: Value| trends(|it| it["series"][0]["filters"] = json!([filter]));
    let cases = [
        (trends(|it| it["series"] = json!([])), "series must not be empty"),
        (
            trends(|it| it["series"] = json!(vec![json!({}); 11])),
            "series must have at most 10 elements, received 11",
        ),
        (trends(|it| it["series"][0]["metric"] = json!("mode")), "series[0].metric must be one of"),
        (
            trends(|it| it["series"][0]["metric"] = json!("sum")),
            "series[0].field is required for this metric",
        ),
        (trends(|it| it["series"][0]["field"] = json!("n")), "series[0].field must be absent"),
        (
            trends(|it| it["series"][0]["eventName"] = json!("")),
            "series[0].eventName must be between 1 and 255 characters",
        ),
        (
            trends(|it| it["series"][0]["eventName"] = json!(7)),
            "series[0].eventName must be a string",
        ),
        (
            filter(json!({"operator": "equals", "value": 1})),
            "series[0].filters[0].property is required",
        ),
        (
            filter(json!({"property": "a", "operator": "like", "value": 1})),
            "series[0].filters[0].operator must be one of",
        ),
        (
            filter(json!({"property": "a", "operator": "gt", "value": [1]})),
            "series[0].filters[0].value must be a number or an ISO 8601 date",
        ),
        (
            filter(json!({"property": "a", "operator": "in", "value": []})),
            "series[0].filters[0].value must have between 1 and 1000 elements",
        ),
        (
            trends(|it| {
                it["series"][0]["filters"] =
                    json!(vec![json!({"property": "a", "operator": "exists"}); 21]);
            }),
            "series[0].filters must have",
        ),
    ];
    all_refused(&workspace, "/insights/trends", &cases).await;
}

#[tokio::test]
async fn the_range_breakdown_and_people_of_a_trend_are_checked() {
    let workspace = Workspace::new().await;
    let cases = [
        (trends(|it| it["interval"] = json!("minute")), "interval must be one of"),
        (trends(|it| it["from"] = json!("2026-03-03")), "from must not be after to"),
        (
            trends(|it| it["last"] = json!({"amount": 1, "unit": "days"})),
            "last must not stand beside from and to",
        ),
        (trends(|it| it["timezone"] = json!("+02:00")), "timezone must be an IANA time zone"),
        (
            trends(|it| {
                it["from"] = json!("1990-01-01");
                it["interval"] = json!("hour");
            }),
            "interval must make at most 5000 intervals",
        ),
        (
            trends(|it| {
                (it["from"], it["to"]) = (json!("1999-01-01"), json!("2098-12-31"));
                it["interval"] = json!("hour");
            }),
            "interval must make at most 5000 intervals",
        ),
        (
            trends(|it| it["from"] = json!("1926-03-01")),
            "from must be between the years 1970 and 2099",
        ),
        (
            trends(|it| it["breakdown"] = json!({})),
            "breakdown must have either property or profile",
        ),
        (
            trends(|it| it["breakdown"] = json!({"property": "a", "profile": "b"})),
            "breakdown must have either property or profile",
        ),
        (
            trends(|it| it["breakdown"] = json!({"property": "a", "limit": 101})),
            "breakdown.limit must be between 1 and 100",
        ),
        (trends(|it| it["compare"] = json!("last_year")), "compare must be one of"),
        (
            trends(|it| it["people"] = json!({"segmentId": "x"})),
            "people.segmentId must be the id of a segment",
        ),
        (trends(|it| it["people"] = json!({"segmentId": uuid::Uuid::nil()})), "people.segmentId"),
        (
            trends(|it| it["people"] = json!({"filterGroups": [{"filters": []}]})),
            "people.filterGroups[0].filters",
        ),
    ];
    all_refused(&workspace, "/insights/trends", &cases).await;
}

#[tokio::test]
async fn a_trend_has_limits_of_values_and_filters() {
    let workspace = Workspace::new().await;
    let many = trends(|it| {
        it["series"] = json!(vec![json!({}); 10]);
        (it["from"], it["interval"]) = (json!("2025-09-01"), json!("hour"));
        it["breakdown"] = json!({"property": "a", "limit": 100});
    });
    all_refused(&workspace, "/insights/trends", &[(many, "at most 500000 values")]).await;
    let filters = vec![json!({"property": "a", "operator": "exists"}); 11];
    let many = trends(|it| it["series"] = json!(vec![json!({"filters": filters}); 10]));
    let expected = "must have at most 100 filters in all, received 110";
    all_refused(&workspace, "/insights/trends", &[(many, expected)]).await;
    workspace.api.post("/insights/trends", &json!([]), 400).await;
}

#[tokio::test]
async fn each_field_of_a_funnel_and_of_retention_is_checked() {
    let workspace = Workspace::new().await;
    let step =
        |count: usize| funnel(|it| it["steps"] = json!(vec![json!({"eventName": "A"}); count]));
    let cases = [
        (step(1), "steps must have between 2 and 20 elements"),
        (step(21), "steps must have between 2 and 20 elements"),
        (funnel(|it| it["steps"][1] = json!({})), "steps[1].eventName is required"),
        (funnel(|it| drop(it.as_object_mut().unwrap().remove("window"))), "window is required"),
        (
            funnel(|it| it["window"]["amount"] = json!(367)),
            "window.amount must be at most 366 days",
        ),
        (funnel(|it| it["window"]["amount"] = json!(0)), "window.amount must be between 1 and"),
        (funnel(|it| it["window"]["unit"] = json!("years")), "window.unit must be one of"),
        (funnel(|it| it["order"] = json!("loose")), "order must be one of"),
        (
            funnel(|it| drop(it.as_object_mut().unwrap().remove("from"))),
            "from is required, or last",
        ),
    ];
    all_refused(&workspace, "/insights/funnels", &cases).await;
    workspace.api.post("/insights/funnels", &step(20), 200).await;
    let cases = [
        (retention(|it| drop(it.as_object_mut().unwrap().remove("start"))), "start is required"),
        (retention(|it| it["return"] = json!({})), "return.eventName is required"),
        (retention(|it| it["intervals"] = json!(101)), "intervals must be between 1 and 100"),
        (retention(|it| it["interval"] = json!("hour")), "interval must be one of"),
        (retention(|it| it["mode"] = json!("loose")), "mode must be one of"),
        (
            retention(|it| it["from"] = json!("2025-02-28")),
            "interval must make at most 366 cohorts of the range, received 368",
        ),
    ];
    all_refused(&workspace, "/insights/retention", &cases).await;
    workspace
        .api
        .post("/insights/retention", &retention(|it| it["from"] = json!("2025-03-02")), 200)
        .await;
}

#[tokio::test]
async fn a_century_is_answered_by_the_month() {
    let workspace = Workspace::new().await;
    let century = trends(|it| {
        (it["from"], it["to"]) = (json!("1999-01-01"), json!("2098-12-31"));
        it["interval"] = json!("month");
    });
    let answer = workspace.api.post("/insights/trends", &century, 200).await.json();
    assert_eq!(answer["intervals"].as_array().unwrap().len(), 1_200);
    assert_eq!(answer["series"][0]["total"], 0);
}

#[tokio::test]
async fn questions_on_nothing_have_answers() {
    let workspace = Workspace::new().await;
    let question = trends(|it| {
        it["series"] = json!([
            {"eventName": "Never", "metric": "p99", "field": "absent.path"},
            {"eventName": "Never", "metric": "unique", "filters": [{"property": "absent", "operator": "not_exists"}]},
        ]);
    });
    let answer = workspace.api.post("/insights/trends", &question, 200).await.json();
    assert_eq!(answer["series"][0]["values"], json!([null, null]));
    assert_eq!(answer["series"][0]["total"], Value::Null);
    assert_eq!(answer["series"][1]["values"], json!([0, 0]));
    let broken = trends(|it| it["breakdown"] = json!({"property": "absent"}));
    assert_eq!(
        workspace.api.post("/insights/trends", &broken, 200).await.json()["series"],
        json!([])
    );
}
