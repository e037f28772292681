//! `millrace import people`: profiles of a file.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::commands::{import_rows, text};
use crate::kit::Workspace;

async fn profile(workspace: &Workspace, external: &str) -> Value {
    workspace.api.get(format!("/users/by-user-id/{external}"), 200).await.json()
}

#[tokio::test]
async fn profiles_of_a_file_are_created_and_updated() {
    let workspace = Workspace::new().await;
    let folder = TempDir::new().unwrap();
    let csv = folder.path().join("people.csv");
    let lines = [
        "external_id,email,phone,attributes,attributes.firstName",
        r#"ann,Ann@Example.Test,,"{""score"":49.90,""plan"":""free""}",Ann"#,
        "bob,,+49 151 1234567,,",
        r#"ann,,,"{""plan"":""pro""}","#,
    ];
    std::fs::write(&csv, lines.join("\n")).unwrap();
    let imported = import_rows("people", &workspace, &csv).await;
    assert_eq!(imported.status, 0, "{}", imported.stderr);
    assert_eq!(imported.stdout, "3 rows, 3 accepted, 0 refused\n");
    let ann = profile(&workspace, "ann").await;
    assert_eq!(ann["email"], "ann@example.test");
    assert_eq!(ann["attributes"], json!({"score": 49.9, "plan": "pro", "firstName": "Ann"}));
    let bob = profile(&workspace, "bob").await;
    assert_eq!((&bob["phone"], &bob["attributes"]), (&json!("+49 151 1234567"), &json!({})));

    let ndjson = folder.path().join("people.ndjson");
    let line = json!({"external_id": "bob", "attributes": {"n": 1}, "attributes.tags": ["a", 2]});
    std::fs::write(&ndjson, line.to_string()).unwrap();
    for _ in 0..2 {
        let imported = import_rows("people", &workspace, &ndjson).await;
        assert_eq!(imported.stdout, "1 rows, 1 accepted, 0 refused\n", "{}", imported.stderr);
    }
    let bob = profile(&workspace, "bob").await;
    assert_eq!(bob["attributes"], json!({"n": 1, "tags": ["a", 2]}));
}

#[tokio::test]
async fn refused_profiles_are_listed_with_their_reasons() {
    let workspace = Workspace::new().await;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("faulty.ndjson");
    let lines = [
        r#"{"external_id":"ann"}"#,
        r#"{"phone":"1"}"#,
        r#"{"external_id":"bob","colour":"red"}"#,
        r#"{"external_id":"cid","email":"no address"}"#,
        r#"{"user_id":"aaaaaaaaaaaaaaaaaaaaaaaa"}"#,
        r#"{"external_id":"dan","attributes":"["}"#,
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let imported = import_rows("people", &workspace, &file).await;
    assert_eq!(imported.status, 1, "{}", imported.stdout);
    assert_eq!(imported.stdout, "6 rows, 1 accepted, 5 refused\n");
    let listed = std::fs::read_to_string(folder.path().join("faulty.ndjson.refused.ndjson"));
    let listed: Vec<Value> =
        listed.unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let reasons = [
        (2, "externalId"),
        (3, "colour is no column of people"),
        (4, "email"),
        (5, "User not found"),
        (6, "attributes must be an object in JSON"),
    ];
    assert_eq!(listed.len(), reasons.len(), "{listed:?}");
    for (refused, (row, reason)) in listed.iter().zip(reasons) {
        assert_eq!(refused["row"], row);
        assert!(refused["reason"].as_str().unwrap().contains(reason), "{refused}");
    }
}

#[tokio::test]
async fn a_file_with_another_column_is_refused_before_its_rows() {
    let workspace = Workspace::new().await;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("people.csv");
    std::fs::write(&file, "external_id,name\nann,Ann\n").unwrap();
    let refused = import_rows("people", &workspace, &file).await;
    assert_eq!(refused.status, 1);
    let expected = format!("{} has the column name, which people have not", text(&file));
    assert!(refused.stderr.contains(&expected), "{}", refused.stderr);
    workspace.api.get("/users/by-user-id/ann", 404).await;
}
