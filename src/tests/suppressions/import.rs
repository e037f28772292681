//! `POST /suppressions/import`.

use serde_json::{Value, json};

use crate::kit::Workspace;

async fn import(workspace: &Workspace, channel: &str, entries: Value) -> Value {
    let body = json!({"channel": channel, "entries": entries});
    workspace.api.post("/suppressions/import", &body, 200).await.json()
}

#[tokio::test]
async fn import_counts_add_up_and_reasons_are_truncated() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let known = json!({"channel": "email", "identifier": "known@example.test"});
    api.post("/suppressions", &known, 201).await;
    let entries = json!([
        {"identifier": "a@example.test"},
        {"identifier": " A@Example.test "},
        {"identifier": "a@example.test", "reason": "unsubscribe"},
        {"identifier": "known@example.test"},
        {"identifier": "b@example.test", "reason": "hard_bounce"},
        {"identifier": "c@example.test", "reason": 7},
        {"identifier": "no address"},
        {"identifier": "nul\0@example.test"},
        {"identifier": 7},
        {},
        "d@example.test",
        null,
    ]);
    let answer = import(&workspace, "email", entries).await;
    assert_eq!(
        answer,
        json!({"channel": "email", "received": 12, "imported": 4, "skipped": 8, "source": "import"})
    );
    let rows = api.get("/suppressions?channel=email", 200).await.json();
    let mut seen: Vec<String> = Vec::new();
    for row in rows["items"].as_array().unwrap() {
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let words = ["identifier", "reason", "source", "scope"].map(text);
        seen.push(words.join(" "));
    }
    seen.sort();
    assert_eq!(
        seen,
        [
            "a@example.test manual import global",
            "a@example.test unsubscribe import global",
            "b@example.test manual import global",
            "c@example.test manual import global",
            "known@example.test manual api global",
        ]
    );
}

#[tokio::test]
async fn an_import_takes_5000_entries_and_no_more() {
    let workspace = Workspace::new().await;
    let entries = |count: usize| -> Value {
        (0..count).map(|n| json!({"identifier": format!("+49151{n:07}")})).collect()
    };
    let answer = import(&workspace, "sms", entries(5000)).await;
    assert_eq!((&answer["imported"], &answer["skipped"]), (&json!(5000), &json!(0)));
    let answer = import(&workspace, "sms", entries(5000)).await;
    assert_eq!((&answer["imported"], &answer["skipped"]), (&json!(0), &json!(5000)));
    for (entries, error) in [
        (entries(5001), "entries must have at most 5000 elements, received 5001"),
        (entries(0), "entries must not be empty"),
        (Value::Null, "entries is required"),
        (json!({}), "entries must be an array"),
    ] {
        let body = json!({"channel": "sms", "entries": entries});
        let answer = workspace.api.post("/suppressions/import", &body, 400).await;
        assert_eq!(answer.errors(), [error]);
    }
    let page = workspace.api.get("/suppressions?channel=sms", 200).await.json();
    assert_eq!(page["total"], 5000);
}

#[tokio::test]
async fn concurrent_imports_create_each_row_once() {
    let workspace = Workspace::new().await;
    let entries = |reversed: bool| -> Value {
        let mut numbers: Vec<usize> = (0..1000).collect();
        if reversed {
            numbers.reverse();
        }
        let entry = |n: usize| json!({"identifier": format!("p{n}@example.test")});
        numbers.into_iter().map(entry).collect()
    };
    let imports = (0..8).map(|number| {
        let body = json!({"channel": "email", "entries": entries(number % 2 == 0)});
        let api = workspace.api.clone();
        tokio::spawn(async move { api.post("/suppressions/import", &body, 200).await.json() })
    });
    let mut imported = 0;
    for import in imports.collect::<Vec<_>>() {
        imported += import.await.unwrap()["imported"].as_u64().unwrap();
    }
    assert_eq!(imported, 1000);
}
