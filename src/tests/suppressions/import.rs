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
async fn a_dry_run_counts_what_an_import_would_come_to_and_writes_nothing() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let known = json!({"channel": "email", "identifier": "known@example.test"});
    api.post("/suppressions", &known, 201).await;
    let entries = json!([
        {"identifier": "a@example.test"},
        {"identifier": " A@Example.test "},
        {"identifier": "a@example.test", "reason": "unsubscribe"},
        {"identifier": "known@example.test"},
        {"identifier": "known@example.test", "reason": "unsubscribe"},
        {"identifier": "no address"},
    ]);
    let mut body = json!({"channel": "email", "entries": entries, "dryRun": true});
    let dry = api.post("/suppressions/import", &body, 200).await.json();
    assert_eq!(
        dry,
        json!({"channel": "email", "received": 6, "imported": 3, "skipped": 3, "source": "import"})
    );
    assert_eq!(api.get("/suppressions?channel=email", 200).await.json()["total"], 1);
    // Another workspace has none of them, and writes nothing either.
    let other = Workspace::new().await;
    let elsewhere = other.api.post("/suppressions/import", &body, 200).await.json();
    assert_eq!(elsewhere["imported"], 4, "{elsewhere}");
    body["dryRun"] = json!(false);
    assert_eq!(api.post("/suppressions/import", &body, 200).await.json(), dry);
    assert_eq!(api.get("/suppressions?channel=email", 200).await.json()["total"], 4);
    assert_eq!(other.api.get("/suppressions?channel=email", 200).await.json()["total"], 0);
}

#[tokio::test]
async fn faulty_entries_are_refused_by_their_fields_where_that_is_wanted() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let ask = async |entries: Value, expected: u16| {
        let body = json!({"channel": "sms", "entries": entries, "onInvalid": "refuse"});
        api.post("/suppressions/import", &body, expected).await
    };
    let refused = ask(
        json!([
            {"identifier": "+4915112345", "reason": "manual"},
            {"identifier": "a@example.test", "reason": "bounced"},
            {"identifier": "+4915112346", "reason": ""},
            {"identifier": "+4915112347", "reason": 7},
            {"reason": null},
            {"identifier": "1\0"},
            "+4915112348",
            {"identifier": "+4915112349", "reason": "hard_bounce"},
        ]),
        400,
    )
    .await;
    let of_phone = refused.errors()[0].clone();
    assert!(of_phone.starts_with("entries[1].identifier must be a phone"), "{of_phone}");
    assert_eq!(
        refused.errors()[1..],
        [
            "entries[1].reason must be one of: manual, unsubscribe",
            "entries[2].reason must be one of: manual, unsubscribe",
            "entries[3].reason must be a string",
            "entries[4].identifier is required",
            "entries[5].identifier must not contain NUL characters",
            "entries[6] must be an object",
            "entries[7].reason must be one of: manual, unsubscribe",
        ]
    );
    // At the limit all are read, and one faulty entry, the last, keeps the others out.
    let mut entries: Vec<Value> =
        (0..4_999).map(|n| json!({"identifier": format!("+49151{n:07}")})).collect();
    entries.push(json!({"identifier": "nonsense"}));
    let refused = ask(json!(entries), 400).await;
    assert!(refused.errors()[0].starts_with("entries[4999].identifier"), "{}", refused.text);
    assert_eq!(api.get("/suppressions?channel=sms", 200).await.json()["total"], 0);
    entries[4_999] = json!({"identifier": "+4915112345", "reason": null});
    let imported = ask(json!(entries), 200).await.json();
    assert_eq!((&imported["imported"], &imported["skipped"]), (&json!(5_000), &json!(0)));
    entries.push(json!({"identifier": "nonsense"}));
    let too_many = ask(json!(entries), 400).await;
    assert_eq!(too_many.errors(), ["entries must have at most 5000 elements, received 5001"]);
    // More faults than one answer names.
    let refused = ask(json!(vec![json!({"reason": "x"}); 5_000]), 400).await;
    assert_eq!(refused.errors().len(), 1_000);
}

#[tokio::test]
async fn how_to_import_is_checked() {
    let workspace = Workspace::new().await;
    let rows = json!([{"identifier": "a@example.test"}]);
    let body = json!({"channel": "email", "entries": rows, "onInvalid": "fail", "dryRun": "yes"});
    let refused = workspace.api.post("/suppressions/import", &body, 400).await;
    let expected = ["onInvalid must be one of: skip, refuse", "dryRun must be a boolean"];
    assert_eq!(refused.errors(), expected);
    let body = json!({"channel": "email", "entries": rows, "onInvalid": null, "dryRun": null});
    let imported = workspace.api.post("/suppressions/import", &body, 200).await.json();
    assert_eq!(imported["imported"], 1);
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
