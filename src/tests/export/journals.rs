//! An import that is killed goes on where it was.

use std::{
    fmt::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::commands::{import, text};
use crate::kit::{MILLRACE, Workspace, eventually, server};

/// So many that each of the kills comes before the end, also where the test looks late.
const ROWS: usize = 240_000;

/// Starts an import that is not awaited.
fn start(workspace: &Workspace, file: &Path) -> Child {
    Command::new(MILLRACE)
        .args([
            "import",
            "events",
            text(file),
            "--workspace",
            &workspace.name,
            "--url",
            &server().url,
        ])
        .env("MILLRACE_DATA_DIR", &server().data_dir)
        .env_remove("DATABASE_URL")
        .env_remove("CLICKHOUSE_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn an_import_that_is_killed_goes_on_and_every_row_counts_once() {
    let workspace = Workspace::new().await;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("many.csv");
    let mut lines = String::from("event_id,event_name,user_id,timestamp,properties\n");
    for row in 1..=ROWS {
        // Each hundredth has no user.
        let user = if row % 100 == 0 { "" } else { "u" };
        writeln!(lines, "id-{row},A,{user},2026-03-01T00:00:00Z,\"{{\"\"n\"\":{row}}}\"").unwrap();
    }
    std::fs::write(&file, lines).unwrap();
    let journal = folder.path().join("many.csv.import.json");
    let done = || -> u64 {
        let text = std::fs::read(&journal).unwrap_or_default();
        let stored: Value = serde_json::from_slice(&text).unwrap_or_default();
        stored["rows"].as_u64().unwrap_or_default()
    };
    let mut before = 0;
    for _ in 0..3 {
        let mut child = start(&workspace, &file);
        eventually("some more rows are done", || async { (done() > before).then_some(()) }).await;
        child.kill().unwrap();
        child.wait().unwrap();
        before = done();
    }
    assert!(before > 0 && before < ROWS as u64, "killed after {before} rows, in the middle");
    let imported = import(&workspace, &file).await;
    assert_eq!(imported.status, 1, "some rows are refused: {}", imported.stderr);
    let refused = ROWS / 100;
    let accepted = ROWS - refused;
    assert_eq!(imported.stdout, format!("{ROWS} rows, {accepted} accepted, {refused} refused\n"));
    assert!(!journal.exists());
    let list = std::fs::read_to_string(folder.path().join("many.csv.refused.ndjson")).unwrap();
    let listed: Vec<u64> = list
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["row"].as_u64().unwrap())
        .collect();
    let expected: Vec<u64> = (1..=refused as u64).map(|number| number * 100).collect();
    assert_eq!(listed, expected);
    let question =
        json!({"eventName": "A", "groupBy": "month", "sumField": "n", "metrics": ["sum"]});
    let answer = eventually("the events are there", || async {
        let answer = workspace.api.post("/events/aggregate", &question, 200).await.json();
        (answer["data"]["total"] == accepted).then_some(answer)
    })
    .await;
    let all = ROWS * (ROWS + 1) / 2;
    let left_out = 100 * refused * (refused + 1) / 2;
    assert_eq!(answer["data"]["results"][0]["sum_value"], json!(all - left_out));

    // The keys of the killed runs are revoked with the last.
    let keys = ["keys", "list", "--workspace", &workspace.name];
    let keys = crate::engines::command::millrace(&server().data_dir, &keys).await.stdout;
    let own: Vec<&str> = keys.lines().filter(|it| it.contains("millrace import events")).collect();
    assert_eq!(own.len(), 4, "{keys}");
    assert!(own.iter().all(|key| !key.trim_end().ends_with('-')), "{keys}");
}
