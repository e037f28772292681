//! Stores that hang or fail over, and workers that fail: what still works, what is refused, and readiness.

mod console;
mod failover;
mod frozen;
mod limits;
mod poison;
mod start;

use std::path::Path;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::kit::{Client, eventually};

/// The processes of an engine: the one its lock file names, and all below it.
fn processes(lock_file: &Path) -> Vec<Pid> {
    let text = std::fs::read_to_string(lock_file).unwrap();
    let first: i32 = text.lines().next().unwrap().trim().parse().unwrap();
    let mut found = vec![first];
    let mut at = 0;
    while at < found.len() {
        found.extend(children(found[at]));
        at += 1;
    }
    found.into_iter().map(Pid::from_raw).collect()
}

fn children(parent: i32) -> Vec<i32> {
    let parent_line = format!("PPid:\t{parent}");
    let is_child = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line == parent_line)
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(is_child)
        .collect()
}

/// An engine that is stopped, with all its processes, until this is dropped.
struct Frozen(Vec<Pid>);

impl Frozen {
    fn postgres(data_dir: &Path) -> Self {
        Self::freeze(&data_dir.join("postgres/18/postmaster.pid"))
    }

    fn clickhouse(data_dir: &Path) -> Self {
        Self::freeze(&data_dir.join("clickhouse/engine.lock"))
    }

    fn freeze(lock_file: &Path) -> Self {
        // The first makes the others: once it is stopped, there are no new ones.
        signal(&processes(lock_file)[..1], Signal::SIGSTOP);
        let all = processes(lock_file);
        signal(&all, Signal::SIGSTOP);
        Self(all)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        signal(&self.0, Signal::SIGCONT);
    }
}

fn signal(pids: &[Pid], signal: Signal) {
    for pid in pids {
        // One may have ended meanwhile.
        let _ = kill(*pid, signal);
    }
}

/// The status of `/readyz` with this query.
async fn readiness(admin_url: &str, query: &str) -> u16 {
    reqwest::get(format!("{admin_url}/readyz{query}")).await.unwrap().status().as_u16()
}

async fn until_readiness(admin_url: &str, query: &str, status: u16) {
    eventually(&format!("/readyz{query} is {status}"), || async {
        (readiness(admin_url, query).await == status).then_some(())
    })
    .await;
}

/// The value of a metric, the labels being part of the name; 0 where it was never set.
async fn metric(admin_url: &str, name: &str) -> f64 {
    let text = Client::new(admin_url, None).get("/metrics", 200).await.text;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}
