//! Limits of statements, and callers who try them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use providers::client::{self, ClientOptions, roots};
use reqwest::Method;
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use super::fixture::{Answered, Sql, sent};
use crate::kit::{TestServer, Workspace, data_dir, eventually, run, server, settings, unique};

/// Time for a piece of an answer.
const READ_MAX: Duration = Duration::from_secs(30);
/// Runs until it is stopped.
const RUNAWAY: &str = "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)";
/// Statements of this text that run in ClickHouse.
const RUNNING: &str = "SELECT count() FROM system.processes WHERE position(query, {text:String}) > 0 AND position(query, 'system.processes') = 0";

async fn running(text: &str) -> u64 {
    let text = text.to_owned();
    server()
        .with(|app| async move {
            let client = app.analytics().client();
            client.query_raw(RUNNING).param("text", text).fetch_one().await.unwrap()
        })
        .await
}

/// A server with small limits, and a caller on it.
async fn small(name: &str, besides: &[(&'static str, String)]) -> (TestServer, Sql) {
    let folder = data_dir(name);
    let mut settings = settings(&folder, besides);
    settings.sql_listen = config::SqlListen::At("127.0.0.1:0".parse().unwrap());
    let server = run(settings, kernel::Clock::system());
    let (key, _) = server.key("small", "analytics:sql").await;
    let sql = Sql::on(&server, key).await;
    (server, sql)
}

#[tokio::test]
async fn a_statement_may_take_so_much_time_and_no_more() {
    let (_server, sql) = small("sql-seconds", &[("sql.seconds", "1".to_owned())]).await;
    let began = Instant::now();
    assert_eq!(sql.ask(RUNAWAY).await.code(), 159);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_statement_may_take_so_much_memory_and_rows_and_no_more() {
    // A slow machine must come to the other limits before that of time.
    let (_server, sql) = small(
        "sql-limits",
        &[
            ("sql.seconds", "10".to_owned()),
            ("sql.memory_bytes", "50_000_000".to_owned()),
            ("sql.result_rows", "1_000".to_owned()),
            ("sql.queries_per_key", "2".to_owned()),
            ("sql.waiting_per_key", "1".to_owned()),
            ("sql.wait_seconds", "1".to_owned()),
        ],
    )
    .await;
    assert_eq!(sql.ask("SELECT groupArray(number) FROM numbers(20000000)").await.code(), 241);
    assert_eq!(sql.ask("SELECT number FROM numbers(1000)").await.status, 200);
    for rows in ["1001", "1000000000"] {
        assert_eq!(sql.ask(&format!("SELECT number FROM numbers({rows})")).await.code(), 396);
    }
    // Two run, one waits, and the next is refused at once; the one that waits is refused in time, or gets a place.
    let ask = |count: usize| {
        let sql = sql.clone();
        tokio::spawn(async move { (count, sql.ask(RUNAWAY).await) })
    };
    let all: Vec<_> = (0..8).map(ask).collect();
    let mut codes = Vec::new();
    for asked in all {
        codes.push(asked.await.unwrap().1.code());
    }
    let refused = codes.iter().filter(|code| **code == 202).count();
    assert!(refused >= 5 && codes.iter().all(|code| [159, 202].contains(code)), "{codes:?}");
    assert_eq!(sql.ask("SELECT 1").await.text, "1\n");
}

#[tokio::test]
async fn a_client_that_goes_ends_its_statement() {
    let sql = Sql::of(&Workspace::new().await).await;
    let text = unique("gone");
    let statement = format!("{RUNAWAY} WHERE '{text}' != ''");
    let asked = sql.clone();
    let statement_sent = statement.clone();
    let task = tokio::spawn(async move { asked.ask(&statement_sent).await });
    eventually("the statement runs", async || (running(&text).await > 0).then_some(())).await;
    task.abort();
    eventually("the statement has ended", async || (running(&text).await == 0).then_some(())).await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_keeps_no_place() {
    let (_server, sql) = small(
        "sql-unread",
        &[
            ("sql.seconds", "3".to_owned()),
            ("sql.answer_seconds", "1".to_owned()),
            ("sql.queries_per_key", "1".to_owned()),
            ("sql.wait_seconds", "20".to_owned()),
        ],
    )
    .await;
    // A connection of HTTP/2 is alive while one of its answers is not taken.
    for http2_only in [false, true] {
        let roots = Arc::new(roots(None).unwrap());
        let client = client::Client::new(&ClientOptions { roots, http2_only });
        // More than buffers of connections hold.
        let statement = Bytes::from("SELECT repeat('x', 1000) FROM numbers(1000000)");
        let request = http::Request::post(&sql.url);
        let request = request.header("x-clickhouse-key", &sql.key).body(statement).unwrap();
        let mut unread = client.open(request, READ_MAX).await.unwrap();
        assert_eq!(unread.status, 200);
        assert!(unread.next(READ_MAX).await.unwrap().is_some(), "the answer began");
        let began = Instant::now();
        // It waits for the only place of the key.
        assert_eq!(sql.ask("SELECT 1").await.text, "1\n");
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        let rest = async {
            loop {
                match unread.next(READ_MAX).await {
                    Ok(Some(_)) => {}
                    Ok(None) => return false,
                    Err(_) => return true,
                }
            }
        };
        assert!(rest.await, "what came is not all");
    }
}

/// Looks for a text in another, for seconds and without a look at its time or at a kill.
fn deaf(text: &str) -> String {
    format!(
        "SELECT position(materialize(repeat('a', 150000)), concat(repeat('a', 75000), 'b{text}', toString(number))) FROM numbers(1)"
    )
}

#[tokio::test]
async fn a_statement_that_cannot_be_stopped_keeps_its_place_until_it_ends() {
    let (server, sql) = small(
        "sql-deaf",
        &[
            ("sql.queries", "2".to_owned()),
            ("sql.queries_per_key", "2".to_owned()),
            ("sql.wait_seconds", "1".to_owned()),
        ],
    )
    .await;
    let text = unique("deaf");
    let (asked, statement) = (sql.clone(), deaf(&text));
    let task = tokio::spawn(async move { asked.ask(&statement).await });
    let runs = async |seconds: &'static str| {
        let text = text.clone();
        server
            .with(move |app| async move {
                let ask = format!("{RUNNING} AND elapsed > {seconds}");
                let client = app.analytics().client();
                client.query_raw(&ask).param("text", text).fetch_one::<u64>().await.unwrap()
            })
            .await
    };
    eventually("it runs", async || (runs("1").await > 0).then_some(())).await;
    task.abort();
    // The only place of its workspace is not given to another one.
    let refused = sql.ask("SELECT 1").await;
    assert_eq!(refused.code(), 202, "{}", refused.text);
    assert!(refused.text.contains("1 of this workspace were given up"), "{}", refused.text);
    // Nor is the other one of all that of its workspace.
    let (key, _) = server.key("another", "analytics:sql").await;
    let another = Sql::on(&server, key).await;
    assert_eq!(another.ask("SELECT 1").await.text, "1\n");
    eventually("its place is free", async || {
        (sql.ask("SELECT 1").await.status == 200).then_some(())
    })
    .await;
    assert_eq!(runs("0").await, 0, "it has ended");
}

#[tokio::test]
async fn runaway_statements_leave_tracking_alone() {
    let workspace = Workspace::new().await;
    let sql = Sql::of(&workspace).await;
    let text = unique("runaway");
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let (sql, statement) = (sql.clone(), format!("{RUNAWAY} WHERE '{text}' != ''"));
            tokio::spawn(async move { sql.ask(&statement).await })
        })
        .collect();
    eventually("all run", async || (running(&text).await >= 4).then_some(())).await;
    // The bench measures how much slower; here no acknowledgement is refused, and events land.
    for number in 0..50 {
        let event =
            json!({"userId": "ann", "eventName": "Tracked", "clientEventId": format!("{number}")});
        workspace.api.post("/events/track", &event, 200).await;
    }
    eventually("events land beside them", async || {
        let found = workspace.api.get("/events/query?userId=ann&limit=100", 200).await.json();
        (found.as_array().unwrap().len() == 50).then_some(())
    })
    .await;
    for task in &tasks {
        task.abort();
    }
    eventually("they have ended", async || (running(&text).await == 0).then_some(())).await;
}

#[tokio::test]
async fn a_key_that_is_revoked_asks_nothing_more() {
    let workspace = Workspace::new().await;
    let sql = Sql::of(&workspace).await;
    let id = sql.key.split('_').nth(1).unwrap().to_owned();
    let db = server().db();
    server()
        .on(async move {
            web::auth::keys::revoke(&db, kernel::Clock::system().now(), id.parse().unwrap())
                .await
                .unwrap();
        })
        .await;
    eventually("the key is refused", async || {
        (sql.ask("SELECT 1").await.code() == 516).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_thousand_slow_connections_keep_no_caller_from_asking() {
    let (_server, sql) = small(
        "sql-connections",
        &[
            ("sql.connections_max", "500".to_owned()),
            ("http.header_timeout_seconds", "2".to_owned()),
        ],
    )
    .await;
    let address = sql.url.strip_prefix("http://").unwrap().to_owned();
    let mut held = Vec::new();
    for number in 0..1_000 {
        let Ok(mut stream) = TcpStream::connect(&address).await else { break };
        // Half of a head, a head without its body, or nothing.
        let sent_bytes: &[u8] = match number % 3 {
            0 => b"POST /?query=SEL",
            1 => b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
            _ => b"",
        };
        // A connection that was closed for another cannot be written to.
        drop(stream.write_all(sent_bytes).await);
        held.push(stream);
        if number % 100 == 0 {
            assert_eq!(sql.ask("SELECT 1").await.text, "1\n", "beside {number} connections");
        }
    }
    let answers: Vec<Answered> = {
        let mut answers = Vec::new();
        for _ in 0..20 {
            answers.push(sql.ask("SELECT count() FROM events").await);
        }
        answers
    };
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    drop(held);
}

#[tokio::test]
async fn the_listener_can_be_turned_off() {
    let folder = data_dir("sql-off");
    let off = settings(&folder, &[("sql_listen", "off".to_owned())]);
    let server = run(off, kernel::Clock::system());
    assert_eq!(server.sql_url, "");
}

#[tokio::test]
async fn what_runs_is_counted() {
    let sql = Sql::of(&Workspace::new().await).await;
    assert_eq!(sql.ask("SELECT 1").await.status, 200);
    assert_eq!(sql.refused("DROP TABLE events").await, 164);
    let unknown = sent(sql.anonymous(Method::GET, "/?query=SELECT+1")).await;
    assert_eq!(unknown.status, 401);
    let metrics = reqwest::get(format!("{}/metrics", server().admin_url))
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    for line in [
        "millrace_sql_statements_total{outcome=\"answered\"}",
        "millrace_sql_refused_total{reason=\"statement\"}",
        "millrace_sql_refused_total{reason=\"credential\"}",
        "millrace_sql_statement_seconds_count",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
}
