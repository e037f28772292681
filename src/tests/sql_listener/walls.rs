//! What a caller must not reach: other workspaces, other tables, files, hosts, and the state of the engine.

use serde_json::json;

use super::fixture::{Sql, store, track};
use crate::kit::{Workspace, server, unique};

/// A workspace with a text that is nowhere else, in every table.
#[derive(Debug)]
pub(super) struct Canary {
    pub(super) sql: Sql,
    /// Part of every text of it.
    pub(super) text: String,
    pub(super) workspace: Workspace,
}

impl Canary {
    pub(super) async fn new() -> Self {
        let workspace = Workspace::new().await;
        let sql = Sql::of(&workspace).await;
        let text = unique("canary").replace('-', "");
        let event = |number: usize| {
            json!({
                "userId": format!("{text}u{number}"), "anonymousId": format!("{text}a"),
                "eventName": if number % 2 == 0 { "Order Completed".to_owned() } else { format!("{text}e") },
                "clientEventId": format!("{text}c{number}"), "timestamp": "2026-01-02T03:04:05Z",
                "properties": {"orderId": format!("{text}o{number}"), "total": 987_654, "currency": "EUR", "note": text},
            })
        };
        track(&workspace, &sql, (0..20).map(event).collect()).await;
        let id = workspace.id.uuid().to_string();
        let filled = text.clone();
        server()
            .with(move |app| async move {
                for statement in CANARY_ROWS {
                    let client = app.analytics().client();
                    let ask =
                        client.query_raw(statement).param("workspace", &id).param("text", &filled);
                    ask.execute().await.unwrap();
                }
            })
            .await;
        Self { sql, text, workspace }
    }
}

const CANARY_ROWS: [&str; 4] = [
    "INSERT INTO people (workspace_id, user_id, version, is_deleted, external_id, email, phone, attributes, texts)
     SELECT {workspace:UUID}, unhex('00000000000000000000ca0a'), 1, 0, {text:String}, {text:String}, {text:String}, {text:String}, map('x', {text:String})",
    "INSERT INTO identities (workspace_id, type, id, user_id, version)
     SELECT {workspace:UUID}, 'anonymous', {text:String}, '00000000000000000000ca0a', 1",
    "INSERT INTO campaigns (workspace_id, campaign_id, version, is_deleted, name, channel, send_type, status, created_at)
     SELECT {workspace:UUID}, generateUUIDv4(), 1, 0, {text:String}, 'email', 'scheduled', 'draft', now()",
    "INSERT INTO message_events (workspace_id, campaign_id, type, user_id, message_id, event_id, timestamp, occurrence, variant_id, channel, is_bot, is_test, url, code, reason, seq)
     SELECT {workspace:UUID}, generateUUIDv4(), arrayJoin(['queued', 'sent', 'failed']), '00000000000000000000ca0a', generateUUIDv4(), '', now(), 0, {text:String}, 'email', 0, 0, {text:String}, {text:String}, {text:String}, 1",
];

#[tokio::test]
async fn nothing_of_another_workspace_is_seen_in_any_view() {
    let canary = Canary::new().await;
    let own = Workspace::new().await;
    let sql = Sql::of(&own).await;
    track(&own, &sql, vec![json!({"userId": "ann", "eventName": "Seen"})]).await;
    for view in ["events", "orders", "people", "messages", "message_events", "campaigns"] {
        let all = format!("SELECT * FROM {view} FORMAT JSONEachRow");
        // The texts are there for those whose they are.
        let its = canary.sql.ask(&all).await.text;
        assert!(
            its.contains(&canary.text) || view == "messages" && its.contains("ca0a"),
            "{view}: {its}"
        );
        let seen = sql.ask(&all).await;
        assert_eq!(seen.status, 200, "{view}: {}", seen.text);
        assert!(
            !seen.text.contains(&canary.text) && !seen.text.contains("ca0a"),
            "{view}: {}",
            seen.text
        );
        let rows = if view == "events" { "1" } else { "0" };
        assert_eq!(sql.value(&format!("SELECT count() FROM {view}")).await, rows, "{view}");
    }
}

/// A condition that fails where it meets rows of others discloses them, although none is answered.
#[tokio::test]
async fn no_condition_is_looked_at_for_rows_of_others() {
    let canary = Canary::new().await;
    let own = Workspace::new().await;
    let sql = Sql::of(&own).await;
    track(&own, &sql, vec![json!({"userId": "ann", "eventName": "Seen"})]).await;
    let text = &canary.text;
    for (view, column) in [
        ("events", "user_id"),
        ("events", "properties"),
        ("events", "person_id"),
        ("events", "event_name"),
        ("orders", "order_id"),
        ("people", "email"),
        ("people", "attributes"),
        ("messages", "variant_id"),
        ("message_events", "reason"),
        ("campaigns", "name"),
    ] {
        let found = format!("throwIf(position({column}, '{text}') > 0)");
        for statement in [
            format!("SELECT count() FROM {view} WHERE {found} = 0"),
            format!(
                "SELECT count() FROM {view} WHERE {column} != '' AND {found} = 0 AND toUInt64OrZero({column}) = 0"
            ),
            format!("SELECT sum({found}) FROM {view}"),
            format!("SELECT DISTINCT {found} FROM {view} ORDER BY {found}"),
            format!("SELECT {column} FROM {view} GROUP BY {column} HAVING {found} = 0"),
            format!(
                "SELECT count() FROM {view} AS a JOIN {view} AS b ON a.{column} = b.{column} AND throwIf(position(b.{column}, '{text}') > 0) = 0"
            ),
            format!(
                "SELECT count() FROM {view} WHERE ({column}, {found}) IN (SELECT {column}, 0 FROM {view})"
            ),
            format!(
                "SELECT count() FROM {view} WHERE intDiv(1, position({column}, '{text}') = 0) = 1"
            ),
            format!("SELECT row_number() OVER (PARTITION BY {found}) FROM {view}"),
            format!("SELECT (SELECT max({found}) FROM {view})"),
        ] {
            let answer = sql.ask(&statement).await;
            assert_eq!(answer.status, 200, "{statement}: {}", answer.text);
            let its = canary.sql.ask(&statement).await;
            assert!(
                [395, 153].contains(&its.code()),
                "{statement} must fail for the owner: {}",
                its.text
            );
        }
    }
}

#[tokio::test]
async fn other_tables_files_hosts_and_writes_are_refused() {
    let sql = Sql::of(&Workspace::new().await).await;
    for (statement, code) in [
        ("SELECT * FROM system.processes", 60),
        ("SELECT * FROM system.parts", 60),
        ("SELECT * FROM system.query_log", 60),
        ("SELECT * FROM system.errors", 60),
        ("SELECT * FROM information_schema.tables", 60),
        ("SELECT * FROM timeline", 60),
        ("SELECT * FROM identities", 60),
        ("SELECT * FROM millrace.message_outcomes", 60),
        ("SELECT * FROM millrace_sql.events", 60),
        ("SELECT * FROM `millrace.events`", 60),
        ("SELECT * FROM file('/etc/passwd', 'LineAsString')", 497),
        ("SELECT * FROM url('http://127.0.0.1:1/', TSV, 'a String')", 497),
        ("SELECT * FROM s3('http://x/y')", 497),
        ("SELECT * FROM remote('127.0.0.1', system.one)", 497),
        ("SELECT * FROM merge('millrace', '.*')", 497),
        ("SELECT * FROM mergeTreeIndex('millrace', 'events')", 497),
        ("SELECT * FROM executable('ls', TSV, 'a String')", 497),
        ("SELECT * FROM eval('SELECT 1')", 497),
        ("SELECT * FROM viewIfPermitted(SELECT 1 ELSE null('x UInt8'))", 497),
        ("SELECT * FROM zeros(1)", 497),
        ("SELECT file('/etc/passwd')", 497),
        ("SELECT arrayMap(file, ['/etc/passwd'])", 497),
        ("SELECT * APPLY file FROM (SELECT '/etc/passwd' AS x)", 497),
        ("SELECT * APPLY(x -> file(x)) FROM (SELECT '/etc/passwd' AS x)", 497),
        ("SELECT getMacro('x')", 497),
        ("SELECT hostName()", 497),
        ("SELECT FQDN()", 497),
        ("SELECT getServerSetting('path')", 497),
        ("SELECT getSetting('log_comment')", 497),
        ("SELECT dictGet('a', 'b', 1)", 497),
        ("SELECT joinGet('a', 'b', 1)", 497),
        ("SELECT sleep(3)", 497),
        ("SELECT aiGenerate('x')", 497),
        ("INSERT INTO events SELECT * FROM events", 164),
        ("INSERT INTO FUNCTION file('/tmp/x') SELECT 1", 164),
        ("CREATE TABLE x (a UInt8) ENGINE = Memory", 164),
        ("CREATE TEMPORARY TABLE x (a UInt8)", 164),
        ("DROP TABLE events", 164),
        ("TRUNCATE TABLE events", 164),
        ("ALTER TABLE events DELETE WHERE 1", 164),
        ("SET readonly = 0", 164),
        ("SET ROLE everything", 164),
        ("SYSTEM FLUSH LOGS", 164),
        ("KILL QUERY WHERE 1", 164),
        ("BACKUP DATABASE millrace TO Disk('x', 'y')", 164),
        ("SELECT 1 INTO OUTFILE '/tmp/millrace-sql-outfile'", 497),
        ("SHOW PROCESSLIST", 497),
        ("SHOW CREATE TABLE events", 497),
        ("EXPLAIN ESTIMATE SELECT * FROM events", 497),
        ("EXPLAIN indexes = 1 SELECT * FROM events", 497),
        ("SELECT 1; DROP TABLE events", 62),
        ("SELECT “file”(‘/etc/passwd’)", 62),
        ("SELECT $a$x$a$", 62),
    ] {
        assert_eq!(sql.refused(statement).await, code, "{statement}");
    }
    assert!(!std::path::Path::new("/tmp/millrace-sql-outfile").exists());
}

/// Behind the check of the statement: what the engine itself answers to a session of this role.
#[tokio::test]
async fn the_engine_refuses_what_the_check_of_the_statement_would_let_through() {
    let canary = Canary::new().await;
    let own = Workspace::new().await;
    drop(Sql::of(&own).await);
    let address = server().with(|app| async move { app.analytics().address().clone() }).await;
    let ask = async |statement: &str, mark: &str| {
        let answer = reqwest::Client::new()
            .post(&address.url)
            .query(&[
                ("role", "millrace_sql_reader"),
                ("readonly", "1"),
                ("log_comment", mark),
                ("database", "millrace_sql"),
            ])
            .basic_auth(&address.user, Some(&address.password))
            .body(statement.to_owned())
            .send()
            .await
            .unwrap();
        answer.text().await.unwrap()
    };
    let mark = format!("millrace-sql:{}:x", own.id.uuid());
    for statement in [
        "SELECT * FROM millrace.events",
        "SELECT * FROM merge('millrace', 'events')",
        "SELECT * FROM mergeTreeIndex(millrace, events)",
        "SELECT * FROM remote('127.0.0.1', millrace.events)",
        "SELECT * FROM url('http://127.0.0.1:1/', TSV, 'a String')",
        "SELECT * FROM file('/etc/passwd', 'LineAsString')",
        "INSERT INTO millrace.events (event_id) VALUES ('x')",
        "CREATE TABLE millrace_sql.x (a UInt8) ENGINE = Memory",
        "SELECT 1 SETTINGS log_comment = 'x'",
        "SELECT 1 SETTINGS readonly = 0",
    ] {
        let answer = ask(statement, &mark).await;
        assert!(answer.starts_with("Code: "), "{statement}: {answer}");
    }
    for table in
        ["processes", "parts", "errors", "settings", "tables", "query_cache", "stack_trace"]
    {
        assert_eq!(
            ask(&format!("SELECT count() FROM system.{table}"), &mark).await,
            "0\n",
            "{table}"
        );
    }
    for mark in [&mark, "", "millrace-sql:", "millrace-sql:00000000-0000-0000-0000-000000000000"] {
        let answer = ask("SELECT * FROM events", mark).await;
        assert!(!answer.contains(&canary.text), "{mark}: {answer}");
    }
    let its = format!("millrace-sql:{}:x", canary.workspace.id.uuid());
    assert!(ask("SELECT * FROM events", &its).await.contains(&canary.text));
}

#[tokio::test]
async fn a_statement_that_looks_up_a_row_of_another_workspace_by_its_id_finds_nothing() {
    let own = Workspace::new().await;
    let sql = Sql::of(&own).await;
    store(own.id, "INSERT INTO people (workspace_id, user_id, version, is_deleted, external_id) SELECT {workspace:UUID}, unhex('00000000000000000000ab01'), 1, 0, 'mine'").await;
    assert_eq!(sql.rows("SELECT external_id FROM people").await, [["mine"]]);
    let other = Sql::of(&Workspace::new().await).await;
    assert_eq!(
        other
            .value("SELECT count() FROM people WHERE person_id = '00000000000000000000ab01'")
            .await,
        "0"
    );
}
