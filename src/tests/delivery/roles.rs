//! A process that only delivers.

use std::process::Command;

use crate::kit::{Client, MILLRACE, Process, data_dir};

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_only_process_is_ready_and_serves_no_api() {
    let folder = data_dir("delivers");
    let roles = [("MILLRACE_ROLES", "delivery".to_owned())];
    let (process, key) = Process::start(&folder, &roles).await;
    let (url, metrics) = (&process.url, &process.admin_url);
    let expected = format!(
        "Millrace is ready.  It delivers, and has no API  ·  health {url}/readyz  ·  metrics {metrics}/metrics"
    );
    assert_eq!(process.ready, expected, "it promises no API and no docs");
    let (api, admin) =
        (Client::new(&process.url, key.as_deref()), Client::new(&process.admin_url, None));
    for listener in [&api, &admin] {
        listener.get("/livez", 200).await;
        listener.get_when_back("/readyz").await;
    }
    admin.get("/metrics", 200).await;
    api.get("/users", 404).await;
    api.get("/campaigns", 404).await;
    api.get("/docs", 404).await;

    // What a receiver verifies webhooks by; asked for twice it is the same.
    let secret = || {
        let mut command = Command::new(MILLRACE);
        command.args(["webhooks", "secret", "--workspace", "demo"]);
        let out = command.env("MILLRACE_DATA_DIR", &folder).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    let secrets = tokio::task::block_in_place(|| [secret(), secret()]);
    assert!(secrets[0].starts_with("whsec_") && secrets[0].trim().len() == 50, "{}", secrets[0]);
    assert_eq!(secrets[0], secrets[1]);
    assert!(process.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_process_prints_its_urls_at_startup() {
    let sql = [("MILLRACE_SQL_LISTEN", "127.0.0.1:0".to_owned())];
    let (process, _) = Process::start(&data_dir("answers"), &sql).await;
    let (url, metrics) = (&process.url, &process.admin_url);
    let urls = process.ready.split_whitespace().filter(|word| word.starts_with("http://"));
    let sql = urls.clone().nth(3).unwrap();
    let expected = format!(
        "Millrace is ready.  API {url}  ·  docs {url}/docs  ·  console {url}/console  ·  SQL {sql}  ·  metrics {metrics}/metrics"
    );
    assert_eq!(process.ready, expected);
    let pong = reqwest::get(format!("{sql}/ping")).await.unwrap().text().await.unwrap();
    assert_eq!(pong, "Ok.\n");
    let api = Client::new(url, None);
    api.get("/docs", 200).await;
    api.get_when_back("/readyz").await;
    Client::new(metrics, None).get("/metrics", 200).await;
    assert!(process.stop().await.success());
}
