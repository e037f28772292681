//! ClickHouse's HTTP interface, as its clients use it.

use std::io::Read as _;

use reqwest::Method;

use super::fixture::{Sql, sent};
use crate::kit::{Workspace, server};

async fn caller() -> Sql {
    Sql::of(&Workspace::new().await).await
}

#[tokio::test]
async fn ping_needs_no_credential_and_other_paths_do_not_exist() {
    let sql = caller().await;
    let ping = sent(sql.anonymous(Method::GET, "/ping")).await;
    assert_eq!((ping.status, ping.text.as_str()), (200, "Ok.\n"));
    assert_eq!(sent(sql.anonymous(Method::GET, "/users")).await.status, 404);
}

#[tokio::test]
async fn a_credential_comes_in_any_of_three_ways() {
    let sql = caller().await;
    let key = &sql.key;
    let get = |path: String| sql.anonymous(Method::GET, &path);
    for request in [
        get("/?query=SELECT+1".to_owned()).basic_auth("ann", Some(key)),
        get("/?query=SELECT+1".to_owned())
            .header("X-ClickHouse-User", "x")
            .header("X-ClickHouse-Key", key),
        get(format!("/?query=SELECT+1&user=x&password={key}")),
    ] {
        let answer = sent(request).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, "1\n"));
    }
    let both = get(format!("/?query=SELECT+1&user=x&password={key}")).basic_auth("a", Some("b"));
    assert_eq!(sent(both).await.status, 401);
}

#[tokio::test]
async fn without_a_key_or_with_a_wrong_one_nothing_is_read() {
    let workspace = Workspace::new().await;
    let sql = Sql::of(&workspace).await;
    let (other, _) = server().key(&workspace.name, "events:read,users:read").await;
    for (password, status, code) in [
        (None, 401, 516),
        (Some(""), 401, 516),
        (Some("mr_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), 401, 516),
        (Some("no key"), 401, 516),
        (Some(other.as_str()), 403, 497),
    ] {
        // The statement is none: it is not looked at.
        let request = sql.anonymous(Method::POST, "/?bad setting=1").body("NO STATEMENT");
        let request = match password {
            None => request,
            Some(password) => request.basic_auth("default", Some(password)),
        };
        let answer = sent(request).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{password:?}: {}", answer.text);
        assert!(
            answer.text.starts_with(&format!("Code: {code}. DB::Exception: ")),
            "{}",
            answer.text
        );
    }
}

#[tokio::test]
async fn a_statement_stands_in_the_url_in_the_body_or_in_both() {
    let sql = caller().await;
    let get = sent(sql.request(Method::GET, "/?query=SELECT+1")).await;
    assert_eq!(get.text, "1\n");
    let both = sent(sql.request(Method::POST, "/?query=SELECT").body("2")).await;
    assert_eq!(both.text, "2\n");
    let part = |name: &str, value: &str| {
        format!("--cut\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let form = [part("query", "SELECT {a:UInt8}"), part("param_a", "3"), "--cut--\r\n".to_owned()];
    let form = sql.request(Method::POST, "/").body(form.concat());
    let form = sent(form.header("Content-Type", "multipart/form-data; boundary=cut")).await;
    assert_eq!((form.status, form.text.as_str()), (200, "3\n"));
    let head = sent(sql.request(Method::HEAD, "/?query=SELECT+1")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    let options = sent(sql.anonymous(Method::OPTIONS, "/")).await;
    assert_eq!((options.status, options.header("allow")), (204, "GET, HEAD, POST, OPTIONS"));
    assert_eq!(sent(sql.request(Method::DELETE, "/?query=SELECT+1")).await.status, 405);
    assert_eq!(sent(sql.request(Method::POST, "/")).await.text, "Ok.\n");
}

#[tokio::test]
async fn parameters_formats_and_ids_are_taken() {
    let sql = caller().await;
    let params = [("param_a", "it's"), ("param_n", "7"), ("param_t", "system.one")];
    let answer =
        sql.ask_with("SELECT {a:String}, {n:UInt8} + 1 FROM {t:Identifier}", &params).await;
    assert_eq!(answer.text, "it\\'s\t8\n");
    let fields = [("default_format", "JSONCompact"), ("query_id", "mine"), ("session_id", "s")];
    let answer = sql.ask_with("SELECT 1 AS a", &fields).await;
    assert!(answer.text.contains("\"data\""), "{}", answer.text);
    assert_eq!(answer.header("x-clickhouse-query-id"), "mine");
    assert_eq!(answer.header("x-clickhouse-format"), "JSONCompact");
    assert_eq!(answer.header("x-clickhouse-timezone"), "UTC");
    assert!(answer.header("x-clickhouse-summary").contains("result_rows"));
    assert_eq!(answer.header("content-type"), "application/json; charset=UTF-8");
    let named = sql.ask_with("SELECT 1 AS a FORMAT CSVWithNames", &fields).await;
    assert_eq!(named.text, "\"a\"\n1\n");
    assert_eq!(sql.ask_with("SELECT 1", &[("default_format", "Template")]).await.code(), 73);
    assert_eq!(sql.ask_with("SELECT 1", &[("database", "other")]).await.code(), 81);
    assert_eq!(sql.ask_with("SELECT 1", &[("role", "everything")]).await.code(), 48);
    for database in ["millrace", "default", ""] {
        let answer = sql.ask_with("SELECT count() FROM events", &[("database", database)]).await;
        assert_eq!(answer.text, "0\n");
    }
}

#[tokio::test]
async fn answers_are_compressed_as_the_client_accepts_it() {
    let sql = caller().await;
    let ask = |accepted: &str, fields: &[(&str, &str)]| {
        let request =
            sql.request(Method::POST, "/").query(fields).header("Accept-Encoding", accepted);
        request.body("SELECT number FROM numbers(1000)")
    };
    let on = [("enable_http_compression", "1")];
    for (accepted, encoding) in [("gzip", "gzip"), ("gzip, zstd", "zstd"), ("br", "")] {
        let answer = ask(accepted, &on).send().await.unwrap();
        let named = answer
            .headers()
            .get("content-encoding")
            .map_or("", |it| it.to_str().unwrap())
            .to_owned();
        assert_eq!(named, encoding, "{accepted}");
        let bytes = answer.bytes().await.unwrap();
        let mut text = String::new();
        match encoding {
            "gzip" => {
                flate2::read::GzDecoder::new(bytes.as_ref()).read_to_string(&mut text).unwrap()
            }
            "zstd" => zstd::stream::read::Decoder::new(bytes.as_ref())
                .unwrap()
                .read_to_string(&mut text)
                .unwrap(),
            _ => bytes.as_ref().read_to_string(&mut text).unwrap(),
        };
        assert_eq!(text.lines().count(), 1000, "{accepted}");
    }
    let plain = ask("gzip", &[]).send().await.unwrap();
    assert!(!plain.headers().contains_key("content-encoding"));
    let blocks = ask("gzip", &[("compress", "1")]).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(blocks[16], 0x82, "a block of LZ4");
}

/// As Go's client does, which Grafana uses.
#[tokio::test]
async fn a_client_that_asks_for_the_version_of_the_format_learns_it() {
    let sql = caller().await;
    let fields = [("default_format", "Native"), ("client_protocol_version", "54460")];
    let hello = "SELECT displayName(), version(), revision(), timezone()";
    let request = sql.request(Method::POST, "/").query(&fields).body(hello);
    let bytes = request.send().await.unwrap().bytes().await.unwrap();
    // Information about the block, four columns, one row.
    assert_eq!(bytes[..10], [1, 0, 2, 255, 255, 255, 255, 0, 4, 1]);
    assert!(bytes.ends_with(b"\x03UTC"), "{bytes:?}");
    let request = sql.request(Method::POST, "/").query(&fields).body("SELECT 7 AS a");
    let bytes = request.send().await.unwrap().bytes().await.unwrap();
    assert_eq!(bytes.as_ref(), b"\x01\x01\x01a\x05UInt8\x07");
}

#[tokio::test]
async fn failures_have_clickhouses_codes_before_and_within_an_answer() {
    let sql = caller().await;
    for (statement, code) in [
        ("SELEKT 1", 164),
        ("SELECT", 62),
        ("SELECT nothing FROM events", 47),
        ("SELECT 1 FROM nothing", 60),
        ("SELECT throwIf(1)", 395),
        ("SELECT 1 FORMAT Nothing", 73),
        ("SELECT no_such_function(1)", 497),
        ("SELECT {a:UInt8}", 456),
    ] {
        assert_eq!(sql.refused(statement).await, code, "{statement}");
    }
    // A failure within an answer ends it with its text, and no client can take that for an end.
    let late = "SELECT throwIf(number = 3000000, 'late'), number FROM numbers(5000000)";
    let answer = sql.request(Method::POST, "/").body(late).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    let tag = answer.headers()["x-clickhouse-exception-tag"].to_str().unwrap().to_owned();
    let mut answer = answer;
    let mut bytes = Vec::new();
    let is_broken_off = loop {
        match answer.chunk().await {
            Ok(Some(piece)) => bytes.extend_from_slice(&piece),
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    assert!(
        is_broken_off && text.contains(&format!("__exception__\r\n{tag}\r\nCode: 395.")),
        "{}",
        &text[text.len().saturating_sub(500)..]
    );
    // Held back, it has a status of its own.
    let held = sql
        .ask_with(
            "SELECT throwIf(number = 300000, 'late') FROM numbers(1000000)",
            &[("wait_end_of_query", "1")],
        )
        .await;
    assert_eq!((held.status, held.code()), (500, 395), "{}", held.text);
}

#[tokio::test]
async fn what_clients_ask_on_connecting_is_answered() {
    let sql = caller().await;
    let row = |statement| sql.rows(statement);
    let versions = row("SELECT version(), currentDatabase(), timezone(), currentUser()").await;
    assert_eq!(versions[0][1..], ["millrace", "UTC", "default"]);
    assert_eq!(row("SHOW DATABASES").await, [["millrace"]]);
    let views = ["campaigns", "events", "message_events", "messages", "orders", "people"];
    let tables: Vec<String> = row("SHOW TABLES FROM millrace").await.concat();
    assert_eq!(tables, views);
    assert_eq!(row("SHOW TABLES LIKE 'message%'").await.len(), 2);
    let listed =
        row("SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name")
            .await;
    assert_eq!(listed.concat(), views);
    // As DbGate joins columns and tables.
    assert_eq!(sql.value("SELECT uniqExact(uuid) FROM system.tables").await, "6");
    assert_eq!(row("SELECT DISTINCT database FROM system.columns").await, [["millrace"]]);
    assert_eq!(row("SELECT name FROM system.databases").await, [["millrace"]]);
    for table in ["functions", "formats", "data_type_families"] {
        let count = sql.value(&format!("SELECT count() > 50 FROM system.{table}")).await;
        assert_eq!(count, "1", "{table}");
    }
    // As Superset asks, for the names that it completes.
    let callable = "SELECT name FROM system.functions UNION ALL SELECT name FROM system.table_functions LIMIT 10000";
    let callable = row(callable).await.concat();
    for name in ["toStartOfMonth", "uniqExact", "numbers"] {
        assert!(callable.iter().any(|it| it == name), "{name}");
    }
    assert_eq!(sql.value("SELECT count() FROM system.table_functions").await, "4");
    assert_eq!(row("SELECT * FROM system.one").await, [["0"]]);
    assert_eq!(row("SELECT * FROM system.numbers LIMIT 2").await, [["0"], ["1"]]);
    assert_eq!(row("EXISTS TABLE millrace.events").await, [["1"]]);
    assert_eq!(row("EXISTS events_of_others").await, [["0"]]);
    let described = row("DESCRIBE TABLE millrace.messages").await;
    assert!(
        described.iter().any(|it| it[0] == "sent_at" && it[1].starts_with("Nullable(DateTime64(3"))
    );
    let uncommented = row("SELECT table, name FROM system.columns WHERE comment = ''").await;
    assert!(uncommented.is_empty(), "{uncommented:?}");
    assert_eq!(row("SHOW COLUMNS FROM people LIKE 'em%'").await[0][0], "email");
    assert!(!row("EXPLAIN SELECT count() FROM events").await.is_empty());
    assert!(row("USE millrace").await.is_empty());
}

#[tokio::test]
async fn settings_hold_within_the_limits_and_are_listed_with_them() {
    let sql = caller().await;
    let set =
        async |name: &str, value: &str| sql.ask_with("SELECT 1", &[(name, value)]).await.code();
    assert_eq!(set("max_execution_time", "30").await, 0);
    assert_eq!(set("max_execution_time", "31").await, 452);
    assert_eq!(set("max_result_rows", "10000000").await, 0);
    assert_eq!(set("max_result_rows", "10000001").await, 452);
    assert_eq!(set("readonly", "2").await, 0);
    assert_eq!(set("readonly", "0").await, 164);
    for name in ["additional_table_filters", "log_comment", "profile2", "allow_ddl", "final"] {
        assert_eq!(set(name, "1").await, 164, "{name}");
    }
    assert_eq!(
        sql.ask("SELECT number FROM numbers(3) SETTINGS max_result_rows = 2").await.code(),
        396
    );
    assert_eq!(sql.ask("SELECT 1 SETTINGS log_comment = 'x'").await.code(), 164);
    assert_eq!(sql.ask("SELECT * FROM (SELECT 1 SETTINGS join_use_nulls = 1)").await.code(), 164);
    let listed = sql.rows("SELECT name, readonly, max FROM system.settings WHERE name IN ('max_execution_time', 'join_use_nulls', 'log_queries') ORDER BY name").await;
    assert_eq!(
        listed,
        [
            ["join_use_nulls", "0", "\\N"],
            ["log_queries", "1", "\\N"],
            ["max_execution_time", "0", "30"],
        ]
    );
    let local =
        sql.ask_with("SELECT toString(toDateTime(0))", &[("session_timezone", "Asia/Tokyo")]).await;
    assert_eq!(local.text, "1970-01-01 09:00:00\n");
}

#[tokio::test]
async fn a_statement_has_a_largest_size() {
    let sql = caller().await;
    let padded = |bytes: usize| format!("SELECT 1 --{}", "x".repeat(bytes - 11));
    assert_eq!(sql.ask(&padded(1 << 20)).await.text, "1\n");
    let answer = sql.ask(&padded((1 << 20) + 1)).await;
    assert_eq!((answer.status, answer.code()), (413, 229), "{}", answer.text);
}
