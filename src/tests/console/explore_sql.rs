//! The SQL that Explore offers for a trend has the numbers of its chart.

use std::collections::BTreeMap;

use kernel::Clock;
use serde_json::{Value, json};
use url::form_urlencoded;
use web::workspaces::{self, WorkspaceChanges};

use super::kit::{Person, Seen};
use crate::kit::{Workspace, eventually, server};

const ZONE: &str = "America/New_York";
const DAY_MS: i64 = 86_400_000;

fn event(user: &str, name: &str, at: &str, properties: Value) -> Value {
    json!({"userId": user, "eventName": name, "timestamp": at, "properties": properties})
}

/// Events on both sides of midnight and of a change of the clocks in New York, now, and ahead.
async fn with_events() -> Workspace {
    let workspace = Workspace::new().await;
    let (db, name) = (server().db(), workspace.name.clone());
    let changes =
        WorkspaceChanges { timezone: Some(ZONE.to_owned()), ..WorkspaceChanges::default() };
    server().on(async move { workspaces::set(&db, &name, &changes).await.unwrap() }).await;
    let from_now =
        |ms| kernel::Timestamp::from_millis(Clock::system().now().millis() + ms).to_string();
    let events = json!([
        event("ann", "Seen", "2026-03-07T04:59:59.999Z", json!({"n": 1, "plan": "pro"})),
        event(
            "ann",
            "Seen",
            "2026-03-07T05:00:00Z",
            json!({"n": 2.5, "plan": "pro", "a": {"b": "x"}})
        ),
        event("bob", "Seen", "2026-03-08T07:30:00Z", json!({"n": "4", "plan": 7})),
        event("bob", "Seen", "2026-03-09T03:59:59Z", json!({"n": "4x", "plan": null})),
        event("bob", "Seen", "2026-03-09T04:00:00Z", json!({"n": -3, "plan": "", "a.b": "y"})),
        event("cat", "Seen", "2026-03-20T12:00:00Z", json!({"plan": "it's \"big\""})),
        event("cat", "Clicked", "2026-03-08T12:00:00Z", json!({"n": 10, "plan": "pro"})),
        event("ann", "Clicked", "2026-04-01T03:59:59Z", json!({"n": 20, "plan": true})),
        event(
            "ann",
            "Order Completed",
            "2026-03-08T12:00:00Z",
            json!({"orderId": "1", "total": 5, "n": 1})
        ),
        event(
            "ann",
            "Order Completed",
            "2026-03-10T12:00:00Z",
            json!({"orderId": "1", "total": 6, "n": 2})
        ),
        event(
            "bob",
            "Order Completed",
            "2026-03-10T12:00:00Z",
            json!({"orderId": "2", "total": 7, "n": 3})
        ),
        event("ann", "Seen", &from_now(-1_000), json!({"n": 1})),
        event("ann", "Seen", &from_now(-DAY_MS), json!({"n": 1})),
        event("ann", "Seen", &from_now(DAY_MS), json!({"n": 100})),
    ]);
    workspace.api.post("/events/track", &events, 200).await;
    let question =
        json!({"series": [{}], "interval": "none", "from": "2026-03-01", "to": "2099-12-31"});
    eventually("the events are visible", || async {
        let trends = workspace.api.post("/insights/trends", &question, 200).await.json();
        (trends["series"][0]["total"] == 13).then_some(())
    })
    .await;
    workspace
}

/// Values by interval in seconds since 1970, event and value of a breakdown; those of intervals without events left out.
type Values = BTreeMap<(i64, String, String), f64>;

fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect()
}

/// The numbers of the API.
async fn of_chart(person: &Person, address: &str) -> Values {
    let answer = person.get(&format!("/console/explore/csv?{address}")).await;
    assert_eq!(answer.status, 200, "{address}: {}", answer.text);
    let value = |row: &BTreeMap<String, String>| row["value"].parse::<f64>().ok();
    rows(&answer.text)
        .iter()
        .filter_map(|row| {
            let at = chrono::DateTime::parse_from_rfc3339(&row["interval"]).unwrap().timestamp();
            assert_eq!(row["other"], "false", "{address}: as many values as there are at most");
            Some(((at, row["event_name"].clone(), row["breakdown"].clone()), value(row)?))
        })
        .filter(|(_, value)| *value != 0.0)
        .collect()
}

fn offered(page: &Seen) -> Option<String> {
    let mut sql = page.text.split("<summary>SQL</summary>").nth(1)?.to_owned();
    sql = sql.split("<code>").nth(1)?.split("</code>").next()?.to_owned();
    for (escaped, letter) in [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")] {
        sql = sql.replace(escaped, letter);
    }
    Some(sql)
}

/// The rows of a statement.
async fn answered(
    person: &Person,
    statement: &str,
    address: &str,
) -> Vec<BTreeMap<String, String>> {
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("tab", "sql")
        .append_pair("sql", statement)
        .finish();
    let answer = person.get(&format!("/console/explore/csv?{query}")).await;
    assert_eq!(answer.status, 200, "{address}: {statement}: {}", answer.text);
    rows(&answer.text)
}

/// The numbers of a statement.
async fn of_sql(person: &Person, statement: &str, address: &str) -> Values {
    let has = |column: &str| {
        statement.contains(&format!("{column}, ")) || statement.contains(&format!(" AS {column},"))
    };
    let interval = if statement.contains(" AS interval") {
        format!("toUnixTimestamp(toDateTime(interval, '{ZONE}'))")
    } else {
        "0".to_owned()
    };
    let name = if has("event_name") { "event_name" } else { "''" };
    let breakdown = if has("breakdown") { "ifNull(breakdown, '')" } else { "''" };
    let sql = format!(
        "SELECT {interval} AS at, {name} AS name, {breakdown} AS label, toFloat64(value) AS number FROM ({statement})"
    );
    answered(person, &sql, address)
        .await
        .iter()
        .filter_map(|row| {
            let key = (row["at"].parse().unwrap(), row["name"].clone(), row["label"].clone());
            Some((key, row["number"].parse::<f64>().ok()?))
        })
        .filter(|(_, value)| *value != 0.0)
        .collect()
}

const MARCH: &str = "from=2026-03-01&to=2026-03-31";
/// Questions, and whether there is a statement for them.
const QUESTIONS: &[(&str, bool)] = &[
    ("event=Seen", true),
    ("event=Seen&interval=week", true),
    ("event=Clicked&event=Seen", true),
    ("", true),
    ("interval=none", true),
    ("event=Seen&interval=hour", true),
    ("event=Seen&interval=week", true),
    ("event=Seen&event=Clicked&interval=month", true),
    ("event=Seen&metric=unique", true),
    ("event=Seen&metric=perUser&interval=none", true),
    ("event=Seen&metric=sum&field=n", true),
    ("event=Seen&metric=avg&field=n&interval=month", true),
    ("event=Seen&metric=min&field=n&interval=week", true),
    ("event=Seen&metric=max&field=n", true),
    ("event=Seen&metric=p50&field=n&interval=month", true),
    ("event=Seen&metric=p95&field=n&interval=none", true),
    ("event=Seen&breakdown=plan", true),
    ("event=Seen&breakdown=plan&metric=unique&interval=none", true),
    ("event=Seen&event=Clicked&breakdown=plan&interval=month", true),
    ("event=Seen&breakdown=a.b", true),
    ("event=Order%20Completed&metric=sum&field=n", true),
    (r#"event=Seen&filters=[{"property":"plan","operator":"equals","value":"pro"}]"#, true),
    (r#"event=Seen&filters=[{"property":"plan","operator":"equals","value":""}]"#, true),
    (r#"event=Seen&filters=[{"property":"plan","operator":"starts_with","value":"p"}]"#, true),
    (r#"event=Seen&filters=[{"property":"plan","operator":"equals","value":7}]"#, true),
    (r#"event=Seen&filters=[{"property":"plan","operator":"exists"}]"#, true),
    (r#"event=Seen&filters=[{"property":"n","operator":"gt","value":1}]"#, true),
    (r#"event=Seen&filters=[{"property":"n","operator":"lte","value":-3}]"#, true),
    (r#"event=Seen&filters=[{"property":"a.b","operator":"exists"}]"#, false),
    (r#"event=Seen&filters=[{"property":"plan","operator":"contains","value":"p"}]"#, false),
    ("event=Seen&breakdown=profile%3Aplan", false),
    ("event=Seen&compare=previous_period", false),
    ("event=Seen&metric=sum&field=a.b", false),
];
/// Ranges of the event `Seen`. The chart and the statement are asked for one after the other, so no event is where a range
/// up to now may begin meanwhile.
const RANGES: &[&str] = &[
    "from=2026-03-07&to=2026-03-08",
    "from=2026-03-08",
    "from=2026-03-07T05:00:00Z&to=2026-03-09T03:59:59.999Z",
    "from=2026-03-07&to=2026-03-09T04:00:00Z",
    "last=3d",
    "last=36h&interval=hour",
    "last=2w&interval=week",
    "last=12m&interval=month",
    "interval=none",
];

async fn compare(person: &Person, address: &str, has_statement: bool) {
    let page = person.get(&format!("/console/explore?{address}&answer=on")).await;
    assert_eq!(page.status, 200, "{address}: {}", page.text);
    let Some(statement) = offered(&page) else {
        return assert!(!has_statement, "{address} has no statement: {}", page.text);
    };
    assert!(has_statement, "{address}: {statement}");
    let (chart, mut sql) =
        (of_chart(person, address).await, of_sql(person, &statement, address).await);
    assert!(!chart.is_empty(), "{address} finds events");
    // A statement names no event where there is one, and no interval where there is none.
    let events: Vec<String> = chart.keys().map(|key| key.1.clone()).collect();
    let first = chart.keys().next().unwrap().0;
    sql = sql
        .into_iter()
        .map(|((at, name, label), value)| {
            let name = if name.is_empty() { events[0].clone() } else { name };
            ((if at == 0 { first } else { at }, name, label), value)
        })
        .collect();
    assert_eq!(
        chart.keys().collect::<Vec<_>>(),
        sql.keys().collect::<Vec<_>>(),
        "{address}: {statement}"
    );
    for (key, value) in &chart {
        assert!((value - sql[key]).abs() < 1e-9, "{address} {key:?}: {value} is not {}", sql[key]);
    }
}

/// Someone who may ask in SQL, whose views are there.
async fn analyst() -> Person {
    analyst_of(&with_events().await).await
}

async fn analyst_of(workspace: &Workspace) -> Person {
    let person = Person::signed_in(workspace, "*").await;
    eventually("the views are listed", || async {
        let empty = person.get("/console/explore?tab=sql").await;
        empty.text.contains("<code>people</code>").then_some(())
    })
    .await;
    person
}

#[tokio::test]
async fn sql_of_a_trend_has_the_numbers_of_its_chart() {
    let person = analyst().await;
    for (question, has_statement) in QUESTIONS {
        let question = question.replace('"', "%22");
        compare(&person, &format!("tab=trends&{question}&{MARCH}"), *has_statement).await;
    }
    for range in RANGES {
        compare(&person, &format!("tab=trends&event=Seen&{range}"), true).await;
    }
    let refused = person.get("/console/explore?event=Seen&to=2026-03-01&answer=on").await;
    assert!(refused.text.contains("From</a>: is required beside to"), "{}", refused.text);
}

#[tokio::test]
async fn without_a_statement_there_is_its_reason() {
    let workspace = Workspace::new().await;
    let events: Vec<Value> = (0..12)
        .map(|n| event("ann", "Seen", "2026-03-08T12:00:00Z", json!({"few": n % 10, "many": n})))
        .collect();
    workspace.api.post("/events/track", &json!(events), 200).await;
    let question = json!({"series": [{}], "from": "2026-03-01", "to": "2026-03-31"});
    eventually("the events are visible", || async {
        let trends = workspace.api.post("/insights/trends", &question, 200).await.json();
        (trends["series"][0]["total"] == 12).then_some(())
    })
    .await;
    let person = Person::signed_in(&workspace, "*").await;
    for (question, reason) in [
        ("tab=trends&event=Seen&breakdown=few", None),
        (
            "tab=trends&event=Seen&breakdown=many",
            Some("the values beyond the largest are added up"),
        ),
        ("tab=trends&event=Seen&breakdown=profile%3Aplan", Some("an attribute of people")),
        ("tab=trends&event=Seen&compare=previous_period", Some("the period before")),
        ("tab=trends&event=Seen&metric=sum&field=a.b", Some("a path into objects")),
        ("tab=funnels&event=Seen&event=Seen", Some("two steps are of one event")),
        ("tab=funnels&event=Seen&event=A&order=strict", Some("may come between its steps")),
        ("tab=funnels&event=Seen&event=A&breakdown=few", Some("best attempt")),
    ] {
        let seen = person.get(&format!("/console/explore?{question}&{MARCH}&answer=on")).await;
        assert!(seen.text.contains("API call") && seen.text.contains(">CSV</a>"), "{question}");
        assert_eq!(offered(&seen).is_some(), reason.is_none(), "{question}: {}", seen.text);
        let sentence = seen.text.split("No plain SQL answers this the same: ").nth(1);
        assert_eq!(sentence.is_some(), reason.is_some(), "{question}: {}", seen.text);
        let sentence = sentence.and_then(|text| text.split("</p>").next());
        assert!(reason.is_none_or(|it| sentence.unwrap().contains(it)), "{question}: {sentence:?}");
    }
}

/// The rows of the offered statement.
async fn asked(person: &Person, address: &str) -> Option<Vec<BTreeMap<String, String>>> {
    let page = person.get(&format!("/console/explore?{address}&answer=on")).await;
    assert_eq!(page.status, 200, "{address}: {}", page.text);
    let Some(statement) = offered(&page) else {
        assert!(
            page.text.contains("No plain SQL answers this the same"),
            "{address}: {}",
            page.text
        );
        return None;
    };
    Some(answered(person, &statement, address).await)
}

/// The numbers of the API as a long table.
async fn table_of(person: &Person, address: &str) -> Vec<BTreeMap<String, String>> {
    let answer = person.get(&format!("/console/explore/csv?{address}")).await;
    assert_eq!(answer.status, 200, "{address}: {}", answer.text);
    rows(&answer.text)
}

/// People who reach each step, of the offered statement.
async fn reached(person: &Person, address: &str) -> Option<Vec<u64>> {
    let rows = asked(person, address).await?;
    let steps = (1..=rows[0].len()).map(|step| rows[0][&format!("step_{step}")].parse().unwrap());
    Some(steps.collect())
}

#[tokio::test]
async fn sql_of_a_funnel_is_exact_at_the_edges_of_its_window_and_range() {
    let workspace = Workspace::new().await;
    let at = |user: &str, name: &str, at: &str| event(user, name, at, json!({}));
    let events = json!([
        // At one millisecond, the second step first.
        at("ann", "B", "2026-03-08T12:00:00Z"),
        at("ann", "A", "2026-03-08T12:00:00Z"),
        // At the end of the window, and a millisecond after it.
        at("bob", "A", "2026-03-08T12:00:00Z"),
        at("bob", "B", "2026-03-08T13:00:00Z"),
        at("cat", "A", "2026-03-08T12:00:00Z"),
        at("cat", "B", "2026-03-08T13:00:00.001Z"),
        // The second attempt is the better one.
        at("dan", "A", "2026-03-08T10:00:00Z"),
        at("dan", "A", "2026-03-08T12:00:00Z"),
        at("dan", "B", "2026-03-08T12:30:00Z"),
        // The second step is after the range.
        at("eve", "A", "2026-03-31T23:30:00Z"),
        at("eve", "B", "2026-04-01T00:10:00Z"),
        at("fay", "B", "2026-03-08T11:00:00Z"),
        at("fay", "A", "2026-03-08T12:00:00Z"),
    ]);
    workspace.api.post("/events/track", &events, 200).await;
    let question = json!({"series": [{}], "from": "2026-03-01", "to": "2026-04-01"});
    eventually("the events are visible", || async {
        let trends = workspace.api.post("/insights/trends", &question, 200).await.json();
        (trends["series"][0]["total"] == 13).then_some(())
    })
    .await;
    let person = analyst_of(&workspace).await;
    for (window, expected) in [("1h", [6, 4]), ("2h", [6, 5])] {
        let address = format!("tab=funnels&event=A&event=B&window={window}&{MARCH}");
        assert_eq!(reached(&person, &address).await.unwrap(), expected, "{address}");
        let table = table_of(&person, &address).await;
        let people: Vec<u64> = table.iter().map(|row| row["people"].parse().unwrap()).collect();
        assert_eq!(people, expected, "{address}");
    }
}

#[tokio::test]
async fn sql_of_a_funnel_has_its_numbers() {
    let person = analyst().await;
    for (question, expected) in [
        ("event=Seen&event=Clicked", Some(vec![3, 0])),
        ("event=Seen&event=Clicked&window=8w", Some(vec![3, 1])),
        ("event=Clicked&event=Seen&window=4w", Some(vec![2, 1])),
        ("event=Seen&event=Order%20Completed&event=Clicked&window=4w", Some(vec![3, 2, 1])),
        (
            "event=Seen&event=Clicked&window=8w&filters=[{%22property%22:%22n%22,%22operator%22:%22gt%22,%22value%22:2}]",
            Some(vec![1, 1]),
        ),
        ("event=Seen&event=Seen", None),
        ("event=Seen&event=Clicked&order=strict", None),
        ("event=Seen&event=Clicked&breakdown=plan", None),
    ] {
        let address = format!("tab=funnels&{question}&{MARCH}");
        let reached = reached(&person, &address).await;
        assert_eq!(reached.is_some(), expected.is_some(), "{address}");
        let Some(reached) = reached else { continue };
        let table = table_of(&person, &address).await;
        let people: Vec<u64> = table.iter().map(|row| row["people"].parse().unwrap()).collect();
        assert_eq!(reached, people, "{address}");
        assert_eq!(Some(reached), expected, "{address}");
    }
}

#[tokio::test]
async fn sql_of_retention_has_its_numbers() {
    let person = analyst().await;
    for question in [
        "event=Seen",
        "event=Seen&interval=day&intervals=20",
        "event=Seen&event=Clicked&interval=day&intervals=40",
        "event=Seen&event=Order%20Completed&interval=day&intervals=5&mode=rolling",
        "event=Order%20Completed&event=Seen&interval=month&intervals=2&mode=rolling",
        "event=Seen&filters=[{%22property%22:%22n%22,%22operator%22:%22gt%22,%22value%22:2}]&interval=day",
    ] {
        let address = format!("tab=retention&{question}&{MARCH}");
        let sql = asked(&person, &address).await.unwrap();
        let mut found = Vec::new();
        for row in &sql {
            let counts = (0..row.len() - 2).map(|interval| row[&format!("in_{interval}")].clone());
            found.push((row["people"].clone(), counts.collect::<Vec<_>>()));
        }
        let mut cohorts: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
        for row in table_of(&person, &address).await {
            let cohort = cohorts.entry(row["cohort"].clone()).or_default();
            cohort.0.clone_from(&row["size"]);
            cohort.1.push(row["people"].clone());
        }
        let expected: Vec<_> = cohorts.into_values().filter(|(size, _)| size != "0").collect();
        assert_eq!(found, expected, "{address}");
        assert!(!found.is_empty(), "{address}");
    }
}
