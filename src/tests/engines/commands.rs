//! Commands: what they print, how they end, beside a server and without one.

use std::path::Path;

use super::command::millrace;
use crate::kit::{Client, Output, Process, data_dir};

fn is_one_plain_line(text: &str) -> bool {
    text.lines().count() == 1 && text.starts_with("millrace: ")
}

#[tokio::test]
async fn commands_work_without_a_server_and_beside_one() {
    let data_dir = data_dir("commands");
    let create = ["keys", "create", "--workspace", "w", "--scopes", "events:read,events:write"];
    let alone = millrace(&data_dir, &create).await;
    assert_eq!(alone.status, 0, "{}", alone.stderr);
    let key = alone.stdout.trim_end().to_owned();
    assert!(key.starts_with("mr_") && alone.stdout == format!("{key}\n"), "{}", alone.stdout);

    let (server, demo) = Process::first_start(&data_dir, &[]).await;
    assert!(demo.is_none(), "a store with a workspace gets no demo");
    server.client(&key).get("/events/query", 200).await;
    let beside = millrace(&data_dir, &create).await;
    assert_eq!(beside.status, 0, "{}", beside.stderr);
    let second_key = beside.stdout.trim_end();
    Client::new(&server.url, Some(second_key)).get("/events/query", 200).await;

    let list = millrace(&data_dir, &["keys", "list", "--workspace", "w"]).await;
    assert_eq!((list.status, list.stdout.lines().count()), (0, 3), "{}", list.stdout);
    let id = key.split('_').nth(1).unwrap();
    assert_eq!(millrace(&data_dir, &["keys", "revoke", id]).await.status, 0);
    assert_eq!(millrace(&data_dir, &["migrate"]).await.status, 0);
    let letters = millrace(&data_dir, &["dead-letters", "list"]).await;
    assert_eq!((letters.status, letters.stdout.lines().count()), (0, 1), "{}", letters.stdout);
    let session = ["sessions", "create", "--workspace", "w", "--actor", "me", "--scopes", "*"];
    let session = millrace(&data_dir, &session).await;
    assert_eq!(session.stdout.trim_end().split('.').count(), 3, "{}", session.stderr);
    let absent = ["sessions", "create", "--workspace", "no", "--actor", "me", "--scopes", "*"];
    let absent = millrace(&data_dir, &absent).await;
    assert_eq!((absent.status, absent.stdout.as_str()), (1, ""));
    assert!(is_one_plain_line(&absent.stderr), "{}", absent.stderr);
    let list = millrace(&data_dir, &["keys", "list", "--workspace", "no"]).await;
    assert_eq!(list.status, 1, "a session makes no workspace: {}", list.stdout);

    let twice = millrace(&data_dir, &["serve"]).await;
    assert_eq!(twice.status, 1);
    assert!(is_one_plain_line(twice.stderr.lines().last().unwrap_or_default()), "{}", twice.stderr);
    let holder = format!("pid {}", server.pid());
    assert!(twice.stderr.contains(&holder), "{}", twice.stderr);
    assert!(twice.stderr.contains(&data_dir.display().to_string()), "{}", twice.stderr);
    assert!(server.stop().await.success());
}

#[tokio::test]
async fn bad_usage_ends_with_2_and_a_failure_with_1_and_one_line() {
    let data_dir = data_dir("usage");
    let usage: [&[&str]; 9] = [
        &[],
        &["serv"],
        &["keys"],
        &["keys", "create", "--workspace", "w"],
        &["keys", "create", "--workspace", "w", "--scopes", "no:such"],
        &["keys", "create", "--workspace", "w", "--scopes", "*", "--sdk"],
        &["keys", "revoke", "x"],
        &[
            "sessions",
            "create",
            "--workspace",
            "w",
            "--actor",
            "a",
            "--scopes",
            "*",
            "--ttl",
            "soon",
        ],
        &["serve", "--no-such-flag"],
    ];
    for arguments in usage {
        let outcome = millrace(&data_dir, arguments).await;
        assert_eq!(outcome.status, 2, "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
    }
    let failures: [&[&str]; 5] = [
        &["serve", "--listen", "nowhere"],
        &["serve", "--config", "/no/such/file"],
        &["migrate", "--database-url", "nonsense"],
        &["migrate", "--clickhouse-url", "tcp://h:9000"],
        &["serve", "--data-dir", "/proc/no/such"],
    ];
    for arguments in failures {
        let outcome = millrace(&data_dir, arguments).await;
        assert_eq!(outcome.status, 1, "{arguments:?}: {}", outcome.stderr);
        assert!(is_one_plain_line(&outcome.stderr), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
    }
    assert!(!Path::new(&data_dir).join("postgres").exists(), "none of these starts an engine");
}

#[tokio::test]
async fn the_first_key_is_printed_only_on_a_terminal_or_on_request() {
    let data_dir = data_dir("first-key");
    let (server, key) = Process::start_plainly(&data_dir, Output::Pipe).await;
    assert_eq!(key, None, "logs are read by many");
    assert!(
        server.startup_output.contains("millrace keys create --workspace NAME"),
        "{}",
        server.startup_output
    );
    assert!(!server.startup_output.contains("mr_"), "{}", server.startup_output);
    assert!(server.stop().await.success());

    let (server, key) = Process::start_plainly(&data_dir, Output::Terminal).await;
    let key = key.expect("a person at a terminal gets a key");
    server.client(&key).get("/events/query", 200).await;
    assert!(server.stop().await.success());

    let (server, second) = Process::first_start(&data_dir, &[]).await;
    assert_eq!(second, None, "the key is shown once");
    assert!(!server.startup_output.contains("keys create"), "{}", server.startup_output);
    assert!(server.stop().await.success());
}
