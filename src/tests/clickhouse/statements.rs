//! Queries, parameters, settings, errors, and clients that disconnect or read slowly.

use super::*;

#[tokio::test]
async fn more_than_a_million_rows_are_streamed() {
    // A header repeated between two blocks, or a block lost, would end this at once.
    let client = client(&clickhouse().await);
    for rows in [65_409_u64, 65_410, 1_500_000] {
        let mut cursor = client
            .query("SELECT number, toString(number) FROM numbers({rows:UInt64})")
            .param("rows", rows)
            .fetch::<(u64, String)>()
            .unwrap();
        let mut next = 0;
        while let Some((number, text)) = cursor.next().await.unwrap() {
            assert_eq!((number, text), (next, next.to_string()));
            next += 1;
        }
        assert_eq!(next, rows);
    }
}

#[tokio::test]
async fn parameters_of_many_types_are_bound_and_never_read_as_text() {
    let client = client(&clickhouse().await);
    let nasty = "it's \\ \"quoted\" `x` {y:String}\n\t; DROP TABLE t --";
    let id = uuid::Uuid::new_v4();
    let (text, number, negative, float, flag, list, uuid, rest) = client
        .query(
            "SELECT toString({text:String}), {number:UInt64}, {negative:Int32}, {float:Float64}, {flag:Bool}, arrayStringConcat({list:Array(String)}, '|'), \
             toString({uuid:UUID}), concat(toString({date:Date}), ' ', toString(isNull({nullable:Nullable(String)})))",
        )
        .param("text", nasty)
        .param("number", u64::MAX)
        .param("negative", -5)
        .param("float", 0.25)
        .param("flag", true)
        .param("list", vec!["a", "b'c"])
        .param("uuid", id)
        .param("date", "2026-11-21")
        .param("nullable", None::<String>)
        .fetch_one::<(String, u64, i32, f64, bool, String, String, String)>()
        .await
        .unwrap();
    assert_eq!(text, nasty);
    assert_eq!((number, negative, float, flag), (u64::MAX, -5, 0.25, true));
    assert_eq!((list.as_str(), uuid, rest.as_str()), ("a|b'c", id.to_string(), "2026-11-21 1"));
}

#[tokio::test]
async fn parameters_reach_identifiers_and_inserts() {
    let client = client(&clickhouse().await);
    let table = table(&client, "id UInt64, name String").await;
    client
        .query("INSERT INTO {table:Identifier} SELECT number, {name:String} FROM numbers(2)")
        .param("table", &table)
        .param("name", "n'")
        .execute()
        .await
        .unwrap();
    client
        .query("INSERT INTO {table:Identifier} VALUES (3, {name:String})")
        .param("table", &table)
        .param("name", "n'")
        .execute()
        .await
        .unwrap();
    let names: Vec<String> = client
        .query("SELECT name FROM {table:Identifier}")
        .param("table", &table)
        .fetch_all()
        .await
        .unwrap();
    assert_eq!(names, ["n'", "n'", "n'"]);
    client.query(&format!("DROP TABLE {table}")).execute().await.unwrap();
}

#[tokio::test]
async fn settings_apply_to_their_statement_only() {
    let client = client(&clickhouse().await);
    let ask = "SELECT toUInt64(getSetting('max_block_size'))";
    let usual: u64 = client.query(ask).fetch_one().await.unwrap();
    let own: u64 =
        client.query(ask).with_setting("max_block_size", "1234").fetch_one().await.unwrap();
    let after: u64 = client.query(ask).fetch_one().await.unwrap();
    assert_eq!((own, after), (1234, usual));
    for (name, value, code) in [
        ("no_such_setting", "1", "115"),
        ("max_block_size", "many", "27"),
        ("a = 1, b", "1", "115"),
    ] {
        let error = client.query("SELECT 1").with_setting(name, value).execute().await.unwrap_err();
        assert_eq!(code_of(&error), code, "{name}");
    }
    // What `readonly` forbids stays forbidden for the statement only.
    let error = client
        .query("CREATE TABLE x (id UInt8) ENGINE = Memory")
        .with_setting("readonly", "1")
        .execute()
        .await
        .unwrap_err();
    assert_eq!(code_of(&error), "164");
    let limited = client
        .query("SELECT count() FROM numbers(1000000)")
        .with_setting("max_rows_to_read", "1000")
        .execute()
        .await;
    assert_eq!(code_of(&limited.unwrap_err()), "158");
}

#[tokio::test]
async fn a_statements_session_ends_with_it() {
    let client = client(&clickhouse().await);
    client.query("CREATE TEMPORARY TABLE fleeting (id UInt8)").execute().await.unwrap();
    client.query("SET max_block_size = 77").execute().await.unwrap();
    for _ in 0..20 {
        let error = client.query("SELECT * FROM fleeting").execute().await.unwrap_err();
        assert_eq!(code_of(&error), "60");
        let size: u64 = client
            .query("SELECT toUInt64(getSetting('max_block_size'))")
            .fetch_one()
            .await
            .unwrap();
        assert_ne!(size, 77);
    }
}

#[tokio::test]
async fn a_table_is_described() {
    let address = clickhouse().await;
    let client = client(&address);
    let table = table(&client, ITEM_COLUMNS).await;
    let described = text_of(post(&address, &[], format!("DESCRIBE TABLE {table}"))).await;
    let columns: Vec<(&str, &str)> = described
        .lines()
        .map(|line| {
            let mut fields = line.split('\t');
            (fields.next().unwrap(), fields.next().unwrap())
        })
        .collect();
    let expected = [
        ("id", "UInt64"),
        ("name", "String"),
        ("price", "Nullable(Float64)"),
        ("tags", "Array(String)"),
    ];
    assert_eq!(columns, expected);
    client.query(&format!("DROP TABLE {table}")).execute().await.unwrap();
}

#[tokio::test]
async fn errors_have_clickhouses_codes_texts_and_statuses() {
    let address = clickhouse().await;
    for (statement, status, code, text) in [
        ("SELECT * FROM no_such_table", 404, "60", "UNKNOWN_TABLE"),
        ("SELEC 1", 400, "62", "SYNTAX_ERROR"),
        ("SELECT no_such_column", 404, "47", "UNKNOWN_IDENTIFIER"),
        ("SELECT no_such_function(1)", 404, "46", "UNKNOWN_FUNCTION"),
        ("SELECT 1 FORMAT NoSuchFormat", 404, "73", "UNKNOWN_FORMAT"),
        ("INSERT INTO no_such_table VALUES (1)", 404, "60", "UNKNOWN_TABLE"),
        ("SELECT throwIf(1)", 500, "395", "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"),
        (
            "SELECT sleepEachRow(1) FROM numbers(3) SETTINGS max_execution_time = 0.1, max_block_size = 1",
            408,
            "159",
            "TIMEOUT_EXCEEDED",
        ),
        ("SELECT {missing:UInt8}", 500, "456", "UNKNOWN_QUERY_PARAMETER"),
        ("SELECT 1; SELECT 2", 400, "62", "Multi-statements"),
    ] {
        let (got_status, got_code, got_text) = refusal_of(post(&address, &[], statement)).await;
        assert_eq!((got_status, got_code.as_str()), (status, code), "{statement}: {got_text}");
        assert!(got_text.starts_with(&format!("Code: {code}. DB::Exception: ")), "{got_text}");
        assert!(got_text.contains(text) && got_text.contains("(version "), "{got_text}");
    }
    let (status, code, _) =
        refusal_of(post(&address, &[("database", "no_such_database")], "SELECT 1")).await;
    assert_eq!((status, code.as_str()), (404, "81"));
}

#[tokio::test]
async fn two_statements_in_one_are_refused_before_either_runs() {
    let address = clickhouse().await;
    let client = client(&address);
    let table = table(&client, "id UInt64").await;
    for text in [format!("DROP TABLE {table}; SELECT 1"), format!("DROP TABLE {table}; SELEC (")] {
        let (_, code, _) = refusal_of(post(&address, &[], text)).await;
        assert_eq!(code, "62");
    }
    assert_eq!(count(&client, &table).await, 0);
    client.query(&format!("DROP TABLE {table}")).execute().await.unwrap();
}

#[tokio::test]
async fn a_failure_in_the_middle_of_an_answer_is_not_its_end() {
    let address = clickhouse().await;
    let statement = "SELECT number, throwIf(number = 3000000) FROM numbers(4000000)";
    for compression in [Compression::Lz4, Compression::None] {
        let client = client(&address).with_compression(compression);
        let mut cursor = client.query(statement).fetch::<(u64, u8)>().unwrap();
        let mut rows = 0_u64;
        // Which error it is depends on the pieces in which a client happens to read the end.
        loop {
            match cursor.next().await {
                Ok(Some(_)) => rows += 1,
                Ok(None) => panic!("the answer ended after {rows} rows as if it were whole"),
                Err(_) => break,
            }
        }
        assert!(rows > 0, "the failure was to come later");
    }
    // Over plain HTTP: the text is there, and the body does not end properly.
    let mut answer = post(&address, &[], statement).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let tag = answer.headers()["x-clickhouse-exception-tag"].to_str().unwrap().to_owned();
    let mut tail = Vec::new();
    let broken = loop {
        match answer.chunk().await {
            Ok(Some(piece)) => {
                tail.extend_from_slice(&piece);
                tail.drain(..tail.len().saturating_sub(4096));
            }
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    let tail = String::from_utf8_lossy(&tail).into_owned();
    assert!(broken, "the body ended as if it were whole");
    assert!(tail.contains(&format!("__exception__\r\n{tag}\r\nCode: 395.")), "{tail}");
    assert!(tail.ends_with(&format!("{tag}\r\n__exception__\r\n")), "{tail}");
}

#[tokio::test]
async fn only_ping_needs_no_password() {
    let address = clickhouse().await;
    let http = reqwest::Client::new();
    let ping = http.get(format!("{}/ping", address.url)).send().await.unwrap();
    assert_eq!((ping.status(), ping.text().await.unwrap().as_str()), (StatusCode::OK, "Ok.\n"));
    for request in [
        http.get(&address.url),
        http.get(&address.url).query(&[("query", "SELECT 1")]),
        http.get(&address.url).query(&[
            ("query", "SELECT 1"),
            ("user", &address.user),
            ("password", "wrong"),
        ]),
        http.post(&address.url).body("SELECT 1").basic_auth(&address.user, Some("wrong")),
        http.post(&address.url).body("SELECT 1").basic_auth("wrong", Some(&address.password)),
        http.post(&address.url).body("SELECT 1").header("x-clickhouse-user", &address.user),
    ] {
        let (status, code, text) = refusal_of(request).await;
        assert!(matches!(status, 401 | 403), "{status}");
        assert_eq!(code, "516");
        assert!(text.contains("AUTHENTICATION_FAILED"), "{text}");
    }
    for request in [
        http.get(&address.url).query(&[
            ("query", "SELECT 1"),
            ("user", &address.user),
            ("password", &address.password),
        ]),
        http.post(&address.url).body("SELECT 1").basic_auth(&address.user, Some(&address.password)),
        http.post(&address.url)
            .body("SELECT 1")
            .header("x-clickhouse-user", &address.user)
            .header("x-clickhouse-key", &address.password),
    ] {
        assert_eq!(text_of(request).await, "1\n");
    }
}

#[tokio::test]
async fn get_changes_nothing() {
    let address = clickhouse().await;
    let client = client(&address);
    let table = table(&client, "id UInt64").await;
    for statement in [
        format!("INSERT INTO {table} VALUES (1)"),
        format!("INSERT INTO {table} SELECT 1"),
        format!("DROP TABLE {table}"),
    ] {
        let request = reqwest::Client::new()
            .get(&address.url)
            .basic_auth(&address.user, Some(&address.password))
            .query(&[("database", address.database.as_str()), ("query", statement.as_str())]);
        assert_eq!(refusal_of(request).await.1, "164", "{statement}");
    }
    assert_eq!(count(&client, &table).await, 0);
    client.query(&format!("DROP TABLE {table}")).execute().await.unwrap();
}

#[tokio::test]
async fn answers_have_clickhouses_format_and_summary_headers() {
    let address = clickhouse().await;
    let answer = post(
        &address,
        &[("query_id", "my-query"), ("default_format", "JSON")],
        "SELECT number FROM numbers(200000)",
    )
    .send()
    .await
    .unwrap();
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("x-clickhouse-query-id"), "my-query");
    assert_eq!(header("x-clickhouse-format"), "JSON");
    assert_eq!(header("x-clickhouse-timezone"), "UTC");
    assert_eq!(header("content-type"), "application/json; charset=UTF-8");
    // One document, though the rows come in several blocks.
    let document: serde_json::Value = answer.json().await.unwrap();
    assert_eq!(document["rows"], 200_000);
    assert_eq!(document["data"].as_array().unwrap().len(), 200_000);

    let answer = post(&address, &[], "SELECT 1 FORMAT CSVWithNames").send().await.unwrap();
    assert_eq!(answer.headers()["x-clickhouse-format"], "CSVWithNames");
    let summary: serde_json::Value =
        serde_json::from_str(answer.headers()["x-clickhouse-summary"].to_str().unwrap()).unwrap();
    assert_eq!(summary["result_rows"], "1");
    assert_eq!(answer.text().await.unwrap(), "\"1\"\n1\n");
}

#[tokio::test]
async fn statements_run_concurrently_and_stop_when_their_clients_disconnect() {
    let client = client(&clickhouse().await);
    let mark = uuid::Uuid::new_v4().to_string();
    // Two that never answer a row, one that answers for ever.
    let silent = format!(
        "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1 /* {mark} */ SETTINGS max_threads = 1"
    );
    let endless = format!("SELECT number FROM system.numbers /* {mark} */");
    let waits: Vec<_> = (0..2)
        .map(|_| {
            let query = client.query(&silent);
            tokio::spawn(async move { query.fetch_one::<u64>().await })
        })
        .collect();
    let mut cursor = client.query(&endless).fetch::<u64>().unwrap();
    assert_eq!(cursor.next().await.unwrap(), Some(0));
    until("three statements run at once", async || running(&client, &mark).await == 3).await;
    drop(cursor);
    until("the endless one is stopped", async || running(&client, &mark).await == 2).await;
    waits.iter().for_each(tokio::task::JoinHandle::abort);
    until("the silent ones are killed", async || running(&client, &mark).await == 0).await;
}

#[tokio::test]
async fn a_slow_reader_causes_back_pressure() {
    // A result as large as this one, kept in memory, would be seen in the process and in the engine's own account.
    let address = clickhouse().await;
    let client = client(&address);
    let mark = uuid::Uuid::new_v4().to_string();
    let mut answer = post(
        &address,
        &[],
        format!("SELECT number, repeat('x', 100) FROM numbers(10000000) /* {mark} */"),
    )
    .send()
    .await
    .unwrap();
    assert!(answer.chunk().await.unwrap().is_some());
    let read_rows = async || {
        client
            .query("SELECT max(read_rows), max(memory_usage) FROM system.processes WHERE position(query, {mark:String}) > 0 AND query NOT LIKE '%system.processes%'")
            .param("mark", &mark)
            .fetch_one::<(u64, i64)>()
            .await
            .unwrap()
    };
    let mut before = read_rows().await;
    until("the engine stands still", async || {
        let now = read_rows().await;
        let still = now.0 == before.0 && now.0 > 0;
        before = now;
        still
    })
    .await;
    assert!(
        before.0 < 5_000_000,
        "{} of 10000000 rows were read for a client that reads none",
        before.0
    );
    assert!(before.1 < 200_000_000, "{} bytes are held for a client that reads none", before.1);
}

#[tokio::test]
async fn unsupported_features_are_refused_by_name() {
    let address = clickhouse().await;
    let several_roles = [("role", "everything"), ("role", "everything")];
    for fields in [&[("session_id", "s")] as &[_], &several_roles, &[("quota_key", "q")]] {
        let (status, code, _) = refusal_of(post(&address, fields, "SELECT 1")).await;
        assert_eq!((status, code.as_str()), (501, "48"), "{fields:?}");
    }
    let (_, code, _) = refusal_of(post(&address, &[], "SELECT 1 INTO OUTFILE '/tmp/never'")).await;
    assert_eq!(code, "48");
}

#[tokio::test]
async fn a_statement_has_the_rights_of_the_role_that_it_names() {
    let address = clickhouse().await;
    let table = table(&client(&address), ITEM_COLUMNS).await;
    let read = format!("SELECT count() FROM {table}");
    for fields in [&[] as &[_], &[("role", "everything")]] {
        assert_eq!(text_of(post(&address, fields, read.clone())).await, "0\n", "{fields:?}");
    }
    let reader = [("role", "millrace_sql_reader")];
    for statement in [read, format!("DROP TABLE {table}")] {
        let (status, code, text) = refusal_of(post(&address, &reader, statement)).await;
        assert_eq!((status, code.as_str()), (403, "497"), "{text}");
    }
    let (status, code, _) = refusal_of(post(&address, &[("role", "unknown")], "SELECT 1")).await;
    assert_eq!((status, code.as_str()), (404, "511"));
}

#[tokio::test]
async fn a_statement_is_read_by_as_many_threads_as_it_may_have() {
    let address = clickhouse().await;
    let plan = "EXPLAIN PIPELINE SELECT sum(cityHash64(number)) FROM numbers_mt(100000000)";
    for threads in ["1", "2"] {
        let text = text_of(post(&address, &[("max_threads", threads)], plan)).await;
        let is_parallel = text.contains("× 2");
        assert_eq!(is_parallel, threads == "2", "{threads} threads: {text}");
    }
}
