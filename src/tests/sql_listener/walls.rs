//! What a caller must not reach: other workspaces, other tables, files, hosts, and the state of the engine.

use analytics::sql_access::{MarkKey, TABLES};
use serde_json::json;
use uuid::Uuid;

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
                "eventName": if number.is_multiple_of(2) { "Order Completed".to_owned() } else { format!("{text}e") },
                "clientEventId": format!("{text}c{number}"), "timestamp": "2026-01-02T03:04:05Z",
                "properties": {"orderId": format!("{text}o{number}"), "total": 730_915_286.419_3, "currency": "EUR", "note": text},
            })
        };
        track(&workspace, &sql, (0..20).map(event).collect()).await;
        fill(&workspace, &text, "00000000000000000000ca0a").await;
        Self { sql, text, workspace }
    }

    /// Gives another workspace rows of each table, and puts rows of both into the same parts: those of one workspace
    /// alone would not even be read for the other.
    pub(super) async fn beside(&self, other: &Workspace) {
        fill(other, "own", "000000000000000000000b0b").await;
        server()
            .with(|app| async move {
                for table in TABLES {
                    let statement = format!("OPTIMIZE TABLE {table} FINAL");
                    app.analytics().client().query_raw(&statement).execute().await.unwrap();
                }
            })
            .await;
    }
}

/// Stores a row with this text in each table that views read, but for those of events.
async fn fill(workspace: &Workspace, text: &str, person: &'static str) {
    let (id, text) = (workspace.id.uuid().to_string(), text.to_owned());
    server()
        .with(move |app| async move {
            for statement in ROWS {
                let ask = app.analytics().client().query_raw(statement);
                let ask = ask.param("workspace", &id).param("text", &text).param("person", person);
                ask.execute().await.unwrap();
            }
        })
        .await;
}

const ROWS: [&str; 4] = [
    "INSERT INTO people (workspace_id, user_id, version, is_deleted, external_id, email, phone, attributes, texts)
     SELECT {workspace:UUID}, unhex({person:String}), 1, 0, {text:String}, {text:String}, {text:String}, {text:String}, map('x', {text:String})",
    "INSERT INTO identities (workspace_id, type, id, user_id, version)
     SELECT {workspace:UUID}, 'anonymous', {text:String}, {person:String}, 1",
    "INSERT INTO campaigns (workspace_id, campaign_id, version, is_deleted, name, channel, send_type, status, created_at)
     SELECT {workspace:UUID}, generateUUIDv4(), 1, 0, {text:String}, 'email', 'scheduled', 'draft', now()",
    "INSERT INTO message_events (workspace_id, campaign_id, type, user_id, message_id, event_id, timestamp, occurrence, variant_id, channel, is_bot, is_test, url, code, reason, seq)
     SELECT {workspace:UUID}, generateUUIDv4(), arrayJoin(['queued', 'sent', 'failed']), {person:String}, generateUUIDv4(), '', now(), 0, {text:String}, 'email', 0, 0, {text:String}, {text:String}, {text:String}, 1",
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
    let order = json!({
        "userId": "ann", "eventName": "Order Completed", "timestamp": "2026-01-02T03:04:05Z",
        "properties": {"orderId": "own", "total": 5, "currency": "EUR"},
    });
    track(&own, &sql, vec![order]).await;
    canary.beside(&own).await;
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

/// What a session of the role has no right to, whatever the check of the statement says.
const BEYOND_THE_ROLE: [&str; 15] = [
    "SELECT * FROM millrace.events",
    "SELECT * FROM merge('millrace', 'events')",
    "SELECT * FROM mergeTreeIndex(millrace, events)",
    "SELECT * FROM remote('127.0.0.1', millrace.events)",
    "SELECT * FROM url('http://127.0.0.1:1/', TSV, 'a String')",
    "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "SELECT * FROM filesystem('/etc')",
    "SELECT * FROM sqlite('/tmp/x', 'y')",
    "SELECT * FROM executable('ls', TSV, 'a String')",
    "SELECT hasColumnInTable('millrace', 'events', 'seq')",
    "INSERT INTO millrace.events (event_id) VALUES ('x')",
    "CREATE TABLE millrace_sql.x (a UInt8) ENGINE = Memory",
    "CREATE TEMPORARY TABLE x (a UInt8)",
    "SELECT 1 SETTINGS log_comment = 'x'",
    "SELECT 1 SETTINGS readonly = 0",
];

/// Behind the check of the statement: what the engine itself answers to a session of this role.
#[tokio::test]
async fn the_engine_refuses_what_the_check_of_the_statement_would_let_through() {
    let canary = Canary::new().await;
    let own = Workspace::new().await;
    drop(Sql::of(&own).await);
    let address = server().with(|app| async move { app.analytics().address().clone() }).await;
    let key = MarkKey::of(&address.password);
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
    let (own_id, its_id) = (own.id.uuid(), canary.workspace.id.uuid());
    let mark = key.signed(own_id, Uuid::new_v4());
    for statement in BEYOND_THE_ROLE {
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
    // A signature holds for one workspace.
    let signature = mark.rsplit_once(':').unwrap().1;
    let unsigned = format!("millrace-sql:{its_id}:{its_id}");
    let forged = [
        String::new(),
        "millrace-sql:".to_owned(),
        format!("millrace-sql:{}:x", Uuid::nil()),
        format!("{unsigned}:{signature}"),
        MarkKey::of("").signed(its_id, its_id),
        unsigned,
    ];
    let within = |table: &str, mark: &str| {
        format!("SELECT * FROM (SELECT * FROM {table} SETTINGS log_comment = '{mark}')")
    };
    for other in &forged {
        let answer = ask("SELECT * FROM events", other).await;
        assert!(!answer.contains(&canary.text), "{other}: {answer}");
        // The engine applies settings of a subquery without a look at `readonly`.
        let answer = ask(&within("events", other), &mark).await;
        assert!(!answer.contains(&canary.text), "{other}: {answer}");
        assert_eq!(ask(&within("system.processes", other), &mark).await, "", "{other}");
    }
    let its = key.signed(its_id, Uuid::new_v4());
    assert!(ask("SELECT * FROM events", &its).await.contains(&canary.text));
    assert!(ask(&within("events", &its), &mark).await.contains(&canary.text));
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
