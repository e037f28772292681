//! Pages over 10,000 rows: one page of them at a time, and the last as well as the first.

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
