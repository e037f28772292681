//! Merges of the embedded ClickHouse let everything else go first.

use std::fs;

use nix::unistd::Pid;

use super::crashes::engines;
use crate::kit::{Process, data_dir, eventually};

/// `SCHED_IDLE` of sched(7), as proc(5) shows it in the 41st field of `stat`.
const SCHED_IDLE: &str = "5";

/// Policies of a process's threads of a name.
fn policies(process: Pid, name: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let policy = |stat: String| {
        let (before, after) = stat.rsplit_once(") ")?;
        before
            .ends_with(&format!("({name}"))
            .then(|| after.split(' ').nth(41 - 3))?
            .map(str::to_owned)
    };
    threads.filter_map(|it| policy(fs::read_to_string(it.path().join("stat")).ok()?)).collect()
}

#[tokio::test]
async fn the_threads_that_merge_run_when_no_other_wants_their_core() {
    let data_dir = data_dir("merges");
    let (server, _) = Process::start(&data_dir, &[]).await;
    let [_, clickhouse] = engines(&data_dir).unwrap();
    eventually("all threads of the pool have the policy", || async {
        let policies = policies(clickhouse, "MergeMutate");
        (policies.len() == 4 && policies.iter().all(|it| it == SCHED_IDLE)).then_some(())
    })
    .await;
    let others = policies(clickhouse, "ThreadPool");
    assert!(!others.is_empty() && others.iter().all(|it| it == "0"), "{others:?}");
    assert!(server.stop().await.success());
}
