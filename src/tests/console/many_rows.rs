//! Pages over 10,000 rows: one page of them at a time, and the last as well as the first.

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::kit::Person;
use crate::kit::{Workspace, eventually};

const ROWS: usize = 10_000;
/// People of one page, with the head of the table.
const SHOWN: usize = 51;

fn rows(text: &str) -> usize {
    text.matches("<tr").count()
}

#[tokio::test]
async fn ten_thousand_people_are_shown_page_by_page() {
    let workspace = Workspace::new().await;
    let right_to_left = "مرحبا ".repeat(30);
    for from in (0..ROWS).step_by(1_000) {
        let people: Vec<Value> = (from..from + 1_000)
            .map(|n| json!({"externalId": format!("p{n}"), "attributes": {"name": format!("{right_to_left}{n}"), "plan": "pro"}}))
            .collect();
        workspace.api.post("/users", &json!(people), 200).await;
    }
    let filter =
        json!({"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"});
    let body = json!({"name": "All", "targeting": {"filterGroups": [{"filters": [filter]}]}});
    let segment = workspace.api.post("/segments", &body, 201).await.json();
    let segment = segment["id"].as_str().unwrap();
    let person = Person::signed_in(&workspace, "*").await;
    for path in [
        "/console/people".to_owned(),
        "/console/people?offset=9950".to_owned(),
        "/console/people?query=p99".to_owned(),
        format!("/console/segments/{segment}?tab=members&part=tab"),
    ] {
        let seen = person.get(&path).await;
        assert_eq!(seen.status, 200, "{path}: {}", seen.text);
        let found = rows(&seen.text);
        assert!((2..=SHOWN).contains(&found), "{path}: {found} rows");
    }
    let last = person.get("/console/people?offset=9950").await;
    assert!(last.text.contains("9,951–10,000 of 10,000"), "{}", last.text);
    assert_eq!(rows(&last.text), SHOWN);
    let beyond = person.get("/console/people?offset=10000").await;
    assert!(beyond.text.contains("No one was found"), "{}", beyond.text);
}

#[tokio::test]
async fn a_statement_with_ten_thousand_rows_shows_the_first_and_its_file_has_all() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let of = form_urlencoded::Serializer::new(String::new())
        .append_pair("tab", "sql")
        .append_pair("sql", "SELECT number FROM numbers(10000)")
        .finish();
    // The views are made after the server has begun.
    let seen = eventually("the statement is answered", || async {
        let seen = person.get(&format!("/console/explore?{of}&answer=on")).await;
        (rows(&seen.text) > 1_000).then_some(seen)
    })
    .await;
    assert!(rows(&seen.text) < 1_100, "{} rows", rows(&seen.text));
    let file = person.get(&format!("/console/explore/csv?{of}")).await;
    assert_eq!(file.text.lines().count(), ROWS + 1);
}

/// More than one page of the API has.
const NAMES: usize = 201;
/// Calls that are made at one time.
const AT_ONCE: usize = 16;

/// Makes many of a kind, the first before all others; returns the id of that.
async fn many(workspace: &Workspace, path: &str, body: impl Fn(usize) -> Value) -> String {
    let first = workspace.api.post(path, &body(0), 201).await.json();
    let others = stream::iter(1..NAMES).map(|number| {
        let body = body(number);
        async move { workspace.api.post(path, &body, 201).await }
    });
    others.buffer_unordered(AT_ONCE).for_each(async |_| {}).await;
    first["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn each_of_201_segments_can_be_chosen() {
    let workspace = Workspace::new().await;
    let name = |number: usize| json!({"name": format!("Segment {number}."), "targeting": {}});
    let first = many(&workspace, "/segments", name).await;
    let other = workspace.api.get("/segments?limit=1", 200).await.json();
    let other = other["data"][0]["id"].as_str().unwrap().to_owned();
    let person = Person::signed_in(&workspace, "*").await;
    let option = format!("<option value=\"{first}\">Segment 0.</option>");
    let chosen = format!("<option value=\"{first}\" selected>Segment 0.</option>");
    let row = [("g0.r0.type", "segment"), ("g0.r0.operator", "member"), ("do", "refresh")];
    let campaign = [("channel", "email"), ("audience", "segment"), ("do", "refresh")];
    for (path, fields, field) in [
        ("/console/segments", &row[..], "g0.r0.field"),
        ("/console/campaigns", &campaign, "audience.id"),
    ] {
        let seen = person.post(path, fields).await;
        assert!(seen.text.contains(&option), "{path}: {}", seen.text);
        let seen = person.post(path, &[fields, &[(field, first.as_str())]].concat()).await;
        assert!(seen.text.contains(&chosen), "{path}: {}", seen.text);
    }
    let overlap = format!("/console/segments/{other}?tab=overlap&part=tab");
    let seen = person.get(&overlap).await;
    assert!(seen.text.contains(&option), "{}", seen.text);
    let seen = person.get(&format!("{overlap}&with={first}")).await;
    assert!(seen.text.contains(&chosen) && seen.text.contains("Both"), "{}", seen.text);
}

#[tokio::test]
async fn each_of_201_saved_questions_can_be_opened_and_deleted() {
    let workspace = Workspace::new().await;
    let question = |number: usize| {
        let question = json!({"series": [{"metric": "count", "eventName": "A"}],
            "last": {"amount": 7, "unit": "days"}});
        json!({"name": format!("Question {number}."), "kind": "trends", "question": question})
    };
    let first = many(&workspace, "/insights", question).await;
    let person = Person::signed_in(&workspace, "*").await;
    let all = person.get("/console/explore").await;
    for text in ["<summary>1 more<", "Question 0.", "Question 200."] {
        assert!(all.text.contains(text), "no {text}: {}", all.text);
    }
    let seen = person.get(&format!("/console/explore?insight={first}")).await;
    let delete = format!("/console/explore/delete?insight={first}");
    for text in ["Save as a new question", delete.as_str(), "data-must-equal=\"Question 0.\""] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    assert_eq!(person.post(&delete, &[("confirm", "Question 0.")]).await.status, 303);
}
