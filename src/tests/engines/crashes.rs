//! Killed engines restart; engines of a killed server end with it.

use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpListener},
    path::Path,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use super::command::millrace;
use crate::kit::{Client, Process, data_dir, eventually};

/// Process numbers of the embedded PostgreSQL and ClickHouse, as their own lock files say.
pub(super) fn engines(data_dir: &Path) -> Option<[Pid; 2]> {
    let first = |path: &str| -> Option<Pid> {
        let text = std::fs::read_to_string(data_dir.join(path)).ok()?;
        text.lines().next()?.trim().parse().ok().map(Pid::from_raw)
    };
    Some([first("postgres/18/postmaster.pid")?, first("clickhouse/engine.lock")?])
}

/// Whether the process runs; one that only waits to be reaped does not.
fn runs(pid: Pid) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z')))
}

/// Where the embedded ClickHouse listens, as its published address says.
fn clickhouse_address(data_dir: &Path) -> SocketAddr {
    let text = std::fs::read_to_string(data_dir.join("clickhouse.url")).unwrap();
    let url = engines::ClickHouseAddress::parse(&text).unwrap().url;
    url.socket_addrs(|| None).unwrap()[0]
}

async fn until_ready(admin_url: &str) {
    let url = format!("{admin_url}/readyz");
    eventually("the server is ready", || async {
        reqwest::get(&url).await.is_ok_and(|answer| answer.status().is_success()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn killed_engines_restart_on_their_ports_with_their_data() {
    // Otherwise one crash of an engine would end a deployment until an operator notices.
    let data_dir = data_dir("engine-deaths");
    let (server, key) = Process::first_start(&data_dir, &[]).await;
    let client = server.client(&key.unwrap());
    let event = |name: &str| json!({"userId": "ann", "eventName": name});
    client.post("/events/track", &event("Before"), 200).await;
    let address = std::fs::read_to_string(data_dir.join("clickhouse.url")).unwrap();
    let killed = engines(&data_dir).unwrap();
    for pid in killed {
        kill(pid, Signal::SIGKILL).unwrap();
    }
    // Acknowledged while both are down.
    client.post("/events/track", &event("Meanwhile"), 200).await;
    let back = eventually("both engines run again", || async {
        engines(&data_dir)
            .filter(|now| now.iter().zip(killed).all(|(now, killed)| *now != killed && runs(*now)))
    })
    .await;
    until_ready(&server.admin_url).await;
    for name in ["Before", "Meanwhile"] {
        let path = format!("/events/query?eventName={name}");
        eventually("the event is there", || async {
            let found = client.get_when_back(&path).await;
            found.text.contains(name).then_some(())
        })
        .await;
    }
    let address_now = std::fs::read_to_string(data_dir.join("clickhouse.url")).unwrap();
    assert_eq!(address, address_now, "clients that noted the address must find it again");
    let metrics = Client::new(&server.admin_url, None).get("/metrics", 200).await.text;
    for engine in ["PostgreSQL", "ClickHouse"] {
        let counted = format!("millrace_engine_restarts_total{{engine=\"{engine}\"}}");
        assert!(metrics.contains(&counted), "{metrics}");
    }
    assert!(server.stop().await.success());
    assert!(back.iter().all(|pid| !runs(*pid)), "a server that stopped leaves no engine running");
}

#[tokio::test]
async fn no_other_process_can_take_the_port_of_a_clickhouse_that_died() {
    // Who answers there gets the password and the batches, and is believed.
    let data_dir = data_dir("engine-port");
    let (server, key) = Process::first_start(&data_dir, &[]).await;
    let client = server.client(&key.unwrap());
    let port = clickhouse_address(&data_dir);
    let refused = || {
        let error = TcpListener::bind(port).expect_err("the port is free");
        assert_eq!(error.kind(), ErrorKind::AddrInUse, "{error}");
    };
    let [_, killed] = engines(&data_dir).unwrap();
    kill(killed, Signal::SIGKILL).unwrap();
    client.post("/events/track", &json!({"userId": "ann", "eventName": "Meanwhile"}), 200).await;
    eventually("ClickHouse is dead", || async {
        refused();
        (!runs(killed)).then_some(())
    })
    .await;
    eventually("ClickHouse runs again", || async {
        refused();
        engines(&data_dir).filter(|[_, now]| *now != killed && runs(*now))
    })
    .await;
    eventually("the event landed", || async {
        refused();
        let found = client.get_when_back("/events/query?eventName=Meanwhile").await;
        found.text.contains("Meanwhile").then_some(())
    })
    .await;
    assert!(server.stop().await.success());
    assert!(!data_dir.join("clickhouse.url").exists(), "the server's listener is gone");
    TcpListener::bind(port).expect("a stopped server leaves the port");
}

#[tokio::test]
async fn the_password_is_not_sent_to_a_port_whose_server_died() {
    let data_dir = data_dir("engine-stranger");
    let (server, _) = Process::first_start(&data_dir, &[]).await;
    let port = clickhouse_address(&data_dir);
    server.kill();
    assert!(data_dir.join("clickhouse.url").exists(), "a killed server removes nothing");
    let stranger = eventually("the port is free", || async { TcpListener::bind(port).ok() }).await;
    stranger.set_nonblocking(true).unwrap();
    // The command meets a server that is starting.
    let command = ["dead-letters", "retry"];
    let ((server, _), outcome) =
        tokio::join!(Process::first_start(&data_dir, &[]), millrace(&data_dir, &command));
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert_ne!(clickhouse_address(&data_dir), port);
    let met = stranger.accept().expect_err("the stranger was called");
    assert_eq!(met.kind(), ErrorKind::WouldBlock, "{met}");
    assert!(server.stop().await.success());
}

#[tokio::test]
async fn engines_die_with_a_killed_server_and_the_next_one_starts_at_once() {
    let data_dir = data_dir("server-death");
    let (server, key) = Process::first_start(&data_dir, &[]).await;
    let key = key.unwrap();
    let left = engines(&data_dir).unwrap();
    server
        .client(&key)
        .post("/events/track", &json!({"userId": "ann", "eventName": "Kept"}), 200)
        .await;
    server.kill();
    // No pause: the next server meets engines that are still stopping.
    let (server, second_key) = Process::first_start(&data_dir, &[]).await;
    assert!(second_key.is_none(), "the store that has a workspace already was found again");
    assert!(left.iter().all(|pid| !runs(*pid)), "the engines went with their server");
    let client = server.client(&key);
    eventually("the acknowledged event is there", || async {
        client.get("/events/query?eventName=Kept", 200).await.text.contains("Kept").then_some(())
    })
    .await;
    let left = engines(&data_dir).unwrap();
    server.kill();
    eventually("the engines are gone", || async {
        left.iter().all(|pid| !runs(*pid)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_graceful_shutdown_logs_no_warning() {
    let folder = data_dir("orderly-stop");
    std::fs::create_dir_all(&folder).unwrap();
    let log = folder.join("log");
    let file = std::fs::File::create(&log).unwrap();
    let server = Process::start_logged(&folder.join("data"), file).await;
    assert!(server.stop().await.success());
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("\"message\":\"stopped\""), "{log}");
    // On a busy machine sqlx warns of what took more than a second.
    let is_warning = |line: &&str| {
        let is_slow = line.contains("slow statement: ") || line.contains("exceeded slow threshold");
        !is_slow && (line.contains("\"WARN\"") || line.contains("\"ERROR\""))
    };
    let warnings: Vec<&str> = log.lines().filter(is_warning).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}
