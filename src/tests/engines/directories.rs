//! Directories of the engines and their permissions.

use std::{
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

use secrecy::ExposeSecret as _;

use crate::kit::{Process, data_dir};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Every command line of this machine.
fn command_lines() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .collect()
}

#[tokio::test]
async fn engines_run_under_long_paths_private_to_the_owner() {
    // A socket's address holds 107 bytes, and PostgreSQL does not run as root: neither may decide where
    // an operator can keep the data.
    let closed = data_dir("places");
    std::fs::create_dir_all(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    let data_dir = closed.join("a-rather-long-name".repeat(8)).join("data");
    let (server, key) = Process::first_start(&data_dir, &[]).await;
    server.client(&key.unwrap()).get("/events/query", 200).await;

    let us = nix::unistd::Uid::effective();
    let cluster = std::fs::metadata(data_dir.join("postgres")).unwrap();
    assert_ne!(cluster.uid(), 0, "PostgreSQL never runs as root");
    assert!(us.is_root() || cluster.uid() == us.as_raw());
    for private in ["", "postgres", "postgres/18", "clickhouse", "secrets"] {
        assert_eq!(mode(&data_dir.join(private)), 0o700, "{private}");
    }
    assert_eq!(mode(&data_dir.join("clickhouse.url")), 0o600);

    let address = std::fs::read_to_string(data_dir.join("clickhouse.url")).unwrap();
    let address = engines::ClickHouseAddress::parse(&address).unwrap();
    let password = address.password.expose_secret();
    assert!(password.len() >= 32);
    assert!(command_lines().iter().all(|line| !line.contains(password)));
    let http = reqwest::Client::new();
    let stranger = http.post(address.url.clone()).body("select 1").send().await.unwrap();
    assert!(stranger.status().is_client_error(), "{}", stranger.status());
    let request = http.post(address.url.clone()).basic_auth(&address.user, Some(password));
    let answer = request.body("select 1").send().await.unwrap().text().await.unwrap();
    assert_eq!(answer.trim(), "1");
    assert!(server.stop().await.success());

    // What is deleted is gone: the next start is a first one.
    std::fs::remove_dir_all(&data_dir).unwrap();
    let (server, key) = Process::first_start(&data_dir, &[]).await;
    assert!(key.is_some(), "a fresh folder gets a fresh store");
    assert!(server.stop().await.success());
}

/// Everything below a folder that others than its owner may use, links left aside.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Engines remove files all the time.
        let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
        if metadata.is_symlink() {
            continue;
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            found.push(format!("{} {:o}", path.display(), metadata.permissions().mode()));
        }
        if metadata.is_dir() {
            found.extend(open_to_others(&path));
        }
    }
    found
}

#[tokio::test]
async fn an_open_data_directory_is_closed_to_other_users() {
    let data_dir = data_dir("open");
    std::fs::create_dir_all(&data_dir).unwrap();
    let set = |name: &str, bits| {
        let bits = std::fs::Permissions::from_mode(bits);
        std::fs::set_permissions(data_dir.join(name), bits).unwrap();
    };
    set("", 0o755);
    let event = serde_json::json!({"userId": "ann", "eventName": "Kept"});
    let (server, key) = Process::first_start(&data_dir, &[]).await;
    let key = key.unwrap();
    server.client(&key).post("/events/track", &event, 200).await;
    assert_eq!(mode(&data_dir), 0o700);
    assert_eq!(open_to_others(&data_dir), Vec::<String>::new());
    assert!(server.stop().await.success());

    let folders = ["spool", "secrets", "clickhouse", "clickhouse/files", "postgres", "postgres/18"];
    for folder in folders {
        set(folder, 0o755);
    }
    let segments: Vec<_> = std::fs::read_dir(data_dir.join("spool")).unwrap().collect();
    assert!(!segments.is_empty());
    for file in segments {
        set(&format!("spool/{}", file.unwrap().file_name().display()), 0o644);
    }
    set("secrets/clickhouse", 0o644);
    let (server, _) = Process::first_start(&data_dir, &[]).await;
    server.client(&key).post("/events/track", &event, 200).await;
    assert_eq!(open_to_others(&data_dir), Vec::<String>::new());
    assert!(server.stop().await.success());
}
