//! Health, and an ordered stop.

use std::process::Stdio;

use tokio::io::AsyncReadExt as _;

use crate::kit::{Client, MILLRACE, data_dir, server};

#[tokio::test]
async fn both_listeners_say_alive_and_ready_without_a_credential() {
    for base in [&server().url, &server().admin_url] {
        let client = Client::new(base, None);
        client.get("/livez", 200).await;
        client.get("/readyz", 200).await;
    }
}

#[tokio::test]
async fn metrics_are_not_on_the_public_listener() {
    Client::anonymous().get("/metrics", 404).await;
}

#[tokio::test]
async fn an_orderly_stop_logs_no_warning() {
    let folder = data_dir("orderly-stop");
    let mut child = tokio::process::Command::new(MILLRACE)
        .arg("serve")
        .env("MILLRACE_DATA_DIR", &folder)
        .env("MILLRACE_LISTEN", "127.0.0.1:0")
        .env("MILLRACE_ADMIN_LISTEN", "127.0.0.1:0")
        .env_remove("DATABASE_URL")
        .env_remove("CLICKHOUSE_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let log = tokio::spawn(async move {
        let mut log = String::new();
        stderr.read_to_string(&mut log).await.unwrap();
        log
    });
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains("Millrace is ready") {
        assert!(stdout.read_buf(&mut said).await.unwrap() > 0, "it ended before it was ready");
    }
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::SIGTERM).unwrap();
    assert!(child.wait().await.unwrap().success());
    let log = log.await.unwrap();
    let (_, stop) = log.split_once("stopping").expect("it logs that it stops");
    assert!(!stop.contains("WARN") && !stop.contains("ERROR"), "{stop}");
}
