//! `millrace export events` and `millrace import events` on the shared server.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::fixture::{column, rows, shop, track, until_exported};
use crate::{
    engines::command::{Outcome, millrace},
    kit::{Workspace, server},
};

/// Runs a command against the shared server.
pub(super) async fn run(arguments: &[&str]) -> Outcome {
    let mut all = arguments.to_vec();
    all.extend(["--url", &server().url]);
    millrace(&server().data_dir, &all).await
}

pub(super) async fn import(workspace: &Workspace, file: &Path) -> Outcome {
    import_rows("events", workspace, file).await
}

pub(super) async fn import_rows(rows: &str, workspace: &Workspace, file: &Path) -> Outcome {
    run(&["import", rows, text(file), "--workspace", &workspace.name]).await
}

pub(super) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The answers of the endpoints that analyse events.
async fn answers(workspace: &Workspace) -> Vec<Value> {
    let mut answers = vec![workspace.api.get("/events/query?limit=1000", 200).await.json()];
    for user in ["ann", "bob", "0123456789abcdef01234567"] {
        let path = format!("/events/query?userId={user}");
        answers.push(workspace.api.get(path, 200).await.json());
    }
    for (name, field) in
        [("Order Completed", "total"), ("Page Viewed", "nested.n"), ("Called", "big")]
    {
        let question = json!({"eventName": name, "groupBy": "day", "sumField": field,
            "metrics": ["count", "sum", "avg", "min", "max"]});
        answers.push(workspace.api.post("/events/aggregate", &question, 200).await.json());
    }
    answers
}

#[tokio::test]
async fn what_was_exported_gives_the_same_answers_in_another_workspace() {
    let source = Workspace::new().await;
    // Two events of one instant are listed in the order of their arrival, which an export does not keep.
    let events: Vec<Value> = shop().into_iter().filter(|it| it["clientEventId"] != "o-4").collect();
    track(&source, &events, 7).await;
    let expected = answers(&source).await;
    let folder = TempDir::new().unwrap();
    for format in ["csv", "ndjson", "parquet"] {
        let file = folder.path().join(format!("events.{format}"));
        let exported = run(&["export", "events", text(&file), "--workspace", &source.name]).await;
        assert_eq!((exported.status, exported.stdout.as_str()), (0, ""), "{}", exported.stderr);
        let target = Workspace::new().await;
        let imported = import(&target, &file).await;
        assert_eq!(imported.status, 0, "{}", imported.stderr);
        assert_eq!(imported.stdout, "7 rows, 7 accepted, 0 refused\n");
        until_exported(&target.api, 7).await;
        assert_eq!(answers(&target).await, expected, "{format}");
        // Again it changes nothing.
        assert_eq!(import(&target, &file).await.status, 0);
        until_exported(&target.api, 7).await;
        assert_eq!(answers(&target).await, expected, "{format}");
    }
    let names: Vec<PathBuf> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 3, "no other file is left: {names:?}");
}

#[tokio::test]
async fn events_without_a_timestamp_count_once_after_an_import_into_their_own_workspace() {
    let workspace = Workspace::new().await;
    let events = [
        json!({"userId": "ann", "eventName": "Seen", "clientEventId": "s-1"}),
        json!({"userId": "ann", "eventName": "Order Completed", "clientEventId": "s-2", "properties": {"total": 5}}),
        json!({"userId": "bob", "eventName": "Order Completed", "clientEventId": "s-3", "timestamp": "2026-03-17T12:00:00Z"}),
        json!({"userId": "bob", "eventName": "Seen", "clientEventId": "s-4", "timestamp": "2026-03-17T12:00:00Z"}),
    ];
    track(&workspace, &events, 4).await;
    let folder = TempDir::new().unwrap();
    for (round, format) in (1..).zip(["csv", "ndjson", "parquet"]) {
        let file = folder.path().join(format!("events.{format}"));
        let exported =
            run(&["export", "events", text(&file), "--workspace", &workspace.name]).await;
        assert_eq!(exported.status, 0, "{}", exported.stderr);
        assert_eq!(import(&workspace, &file).await.status, 0);
        // What follows the import is stored after it.
        let next =
            json!({"userId": "ann", "eventName": "Next", "clientEventId": format!("n-{round}")});
        track(&workspace, &[next], 4 + round).await;
    }
    let stored = rows(&workspace.api, "").await;
    assert_eq!(column(&stored, "event_id"), ["s-3", "s-4", "s-1", "s-2", "n-1", "n-2", "n-3"]);
}

#[tokio::test]
async fn an_export_is_narrowed_and_its_key_is_revoked() {
    let workspace = Workspace::new().await;
    track(&workspace, &shop(), 8).await;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("some");
    let exported = run(&[
        "export",
        "events",
        text(&file),
        "--workspace",
        &workspace.name,
        "--format",
        "ndjson",
        "--from",
        "2026-03-03",
        "--to",
        "2026-04-01T00:00:00Z",
        "--event-name",
        "Order Completed",
    ])
    .await;
    assert_eq!(exported.status, 0, "{}", exported.stderr);
    let text = std::fs::read_to_string(&file).unwrap();
    let exported: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(exported, rows(&workspace.api, "?eventName=Order%20Completed").await);
    assert_eq!(column(&exported, "event_id"), ["o-1", "o-2", "o-3", "o-4"]);

    let keys = run_keys(&workspace.name).await;
    let own: Vec<&str> = keys.lines().filter(|it| it.contains("millrace export events")).collect();
    assert!(matches!(own.as_slice(), [key] if !key.ends_with('-')), "one, revoked: {keys}");
}

async fn run_keys(workspace: &str) -> String {
    millrace(&server().data_dir, &["keys", "list", "--workspace", workspace]).await.stdout
}

#[tokio::test]
async fn refused_rows_are_listed_with_their_reasons() {
    let workspace = Workspace::new().await;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("faulty.ndjson");
    let good = |id: &str| {
        json!({"event_id": id, "event_name": "A", "user_id": "u", "timestamp": "2026-03-01T00:00:00Z"})
            .to_string()
    };
    let lines = [
        good("1"),
        r#"{"event_id":"2","event_name":"A"}"#.to_owned(),
        "{not JSON".to_owned(),
        good("4"),
        r#"{"event_name":"A","user_id":"u"}"#.to_owned(),
        r#"{"event_id":"6","event_name":"A","user_id":"u","colour":"red"}"#.to_owned(),
        r#"{"event_id":"7","event_name":"A","user_id":"u","properties":"{"}"#.to_owned(),
        r#"{"event_id":"8","event_name":"A","user_id":"u","timestamp":"1999-12-31"}"#.to_owned(),
        good("9"),
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let imported = import(&workspace, &file).await;
    assert_eq!(imported.status, 1, "{}", imported.stdout);
    assert_eq!(imported.stdout, "9 rows, 3 accepted, 6 refused\n");
    let list = folder.path().join("faulty.ndjson.refused.ndjson");
    assert!(imported.stderr.contains(text(&list)), "{}", imported.stderr);
    let listed = std::fs::read_to_string(&list).unwrap();
    let listed: Vec<Value> = listed.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let reasons = [
        (2, "userId, serviceUserId, anonymousId or userAlias is required"),
        (3, "is no object in JSON"),
        (5, "event_id is required"),
        (6, "colour is no column of events"),
        (7, "properties must be an object in JSON"),
        (8, "timestamp must be between"),
    ];
    assert_eq!(listed.len(), reasons.len());
    for (refused, (row, reason)) in listed.iter().zip(reasons) {
        assert_eq!(refused["row"], row);
        assert!(refused["reason"].as_str().unwrap().contains(reason), "{refused}");
    }
    assert_eq!(
        (&listed[1]["value"], &listed[0]["value"]["event_id"]),
        (&json!("{not JSON"), &json!("2"))
    );
    until_exported(&workspace.api, 3).await;
    // The rows that were wrong, put right.
    std::fs::write(&file, [good("2"), good("1")].join("\n")).unwrap();
    let again = import(&workspace, &file).await;
    assert_eq!((again.status, again.stdout.as_str()), (0, "2 rows, 2 accepted, 0 refused\n"));
    assert!(!list.exists());
    until_exported(&workspace.api, 4).await;
}

#[tokio::test]
async fn commands_that_cannot_work_give_the_reason_in_one_line() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let folder = TempDir::new().unwrap();
    let write = |name: &str, content: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        file
    };
    let good = write("good.csv", "event_id,event_name,user_id\n1,A,u\n");
    let column = write("column.csv", "event_id,colour\n1,red\n");
    let nonsense = write("nonsense.parquet", "nonsense");
    let unnamed = write("unnamed.txt", "");
    let absent = folder.path().join("absent.csv");
    let target = folder.path().join("no/such/folder.csv");
    let (foreign, _) = server().key(&other.name, "*").await;
    let (reader, _) = server().key(&workspace.name, "events:read").await;
    let name = workspace.name.as_str();
    let cases: [(&[&str], &str); 9] = [
        (&["import", "events", text(&column), "--workspace", name], "the column colour"),
        (&["import", "events", text(&nonsense), "--workspace", name], "cannot read"),
        (&["import", "events", text(&absent), "--workspace", name], "cannot read"),
        (&["import", "events", text(&unnamed), "--workspace", name], "--format"),
        (&["import", "events", text(&good), "--workspace", "no such"], "Workspace not found"),
        (
            &["import", "events", text(&good), "--workspace", name, "--api-key", &foreign],
            "is not of the workspace",
        ),
        (&["import", "events", text(&good), "--api-key", &reader], "events:write"),
        (&["export", "events", text(&target), "--workspace", name], "cannot write"),
        (
            &["export", "events", text(&absent), "--workspace", name, "--from", "x"],
            "from must be an ISO 8601",
        ),
    ];
    for (arguments, reason) in cases {
        let outcome = run(arguments).await;
        assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{arguments:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(reason), "{arguments:?}: {}", outcome.stderr);
    }
    let away =
        ["import", "events", text(&good), "--workspace", name, "--url", "http://127.0.0.1:9"];
    let away = millrace(&server().data_dir, &away).await;
    assert!(away.status == 1 && away.stderr.contains("no server answers"), "{}", away.stderr);
    let usage = millrace(&server().data_dir, &["export", "events", text(&good)]).await;
    assert_eq!(usage.status, 2, "{}", usage.stderr);
    assert!(rows(&workspace.api, "").await.is_empty(), "none of these tracked an event");
    // A key alone is enough, and it stays.
    let (writer, _) = server().key(name, "events:write").await;
    let imported = run(&["import", "events", text(&good), "--api-key", &writer]).await;
    assert_eq!(imported.status, 0, "{}", imported.stderr);
    assert!(!run_keys(name).await.contains("millrace import events"));
    until_exported(&workspace.api, 1).await;
}
