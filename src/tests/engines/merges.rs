//! Merges of the embedded ClickHouse let everything else go first, and questions let acknowledgements go first.

use std::{collections::BTreeSet, fs};

use nix::unistd::Pid;

use super::crashes::engines;
use crate::kit::{Process, data_dir, eventually};

/// `SCHED_IDLE` of sched(7), as proc(5) shows it in the 41st field of `stat`.
const SCHED_IDLE: &str = "5";

/// A thread as proc(5) shows it in `stat`.
struct Thread {
    id: String,
    name: String,
    /// The 19th field, the nice value.
    nice: String,
    /// The 41st field, the policy.
    policy: String,
}

fn threads(process: Pid) -> Vec<Thread> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let thread = |stat: String| {
        let (before, after) = stat.rsplit_once(") ")?;
        let (id, name) = before.split_once(" (")?;
        let fields: Vec<&str> = after.split(' ').collect();
        let field = |number: usize| fields.get(number - 3).map(|field| (*field).to_owned());
        let (id, name) = (id.to_owned(), name.to_owned());
        Some(Thread { id, name, nice: field(19)?, policy: field(41)? })
    };
    threads.filter_map(|it| thread(fs::read_to_string(it.path().join("stat")).ok()?)).collect()
}

/// Policies of a process's threads of a name.
fn policies(process: Pid, name: &str) -> Vec<String> {
    let threads = threads(process).into_iter();
    threads.filter(|thread| thread.name == name).map(|thread| thread.policy).collect()
}

#[tokio::test]
async fn the_threads_that_merge_run_when_no_other_wants_their_core() {
    let data_dir = data_dir("merges");
    let (server, _) = Process::first_start(&data_dir, &[]).await;
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

/// Whether this process has `CAP_SYS_NICE` of capabilities(7), without which the engine sets no nice value.
fn may_set_nice_values() -> bool {
    const CAP_SYS_NICE: u32 = 23;
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    u64::from_str_radix(effective.trim(), 16).unwrap() >> CAP_SYS_NICE & 1 == 1
}

/// The threads of ClickHouse that answer questions now.
fn standing_back(clickhouse: Pid) -> BTreeSet<String> {
    /// The nice value of questions.
    const QUESTIONS: &str = "10";
    let threads = threads(clickhouse).into_iter();
    let found = threads.filter(|it| it.policy != SCHED_IDLE && it.nice == QUESTIONS);
    found.map(|thread| thread.id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_threads_of_questions_stand_back_and_those_of_inserts_do_not() {
    if !may_set_nice_values() {
        return eprintln!("SKIPPED the nice value of questions: this process lacks CAP_SYS_NICE");
    }
    let data_dir = data_dir("questions");
    let (server, key) = Process::first_start(&data_dir, &[]).await;
    let api = server.client(&key.unwrap());
    let [_, clickhouse] = engines(&data_dir).unwrap();
    // So many that some question runs whenever the threads are looked at.
    let asked = async {
        loop {
            let asked = (0..8).map(|_| api.get("/events/query", 200));
            futures_util::future::join_all(asked).await;
        }
    };
    let seen = eventually("threads of questions", || async {
        Some(standing_back(clickhouse)).filter(|found| !found.is_empty())
    });
    let mut left = tokio::select! { () = asked => BTreeSet::new(), found = seen => found };
    // Threads are given back as they were. The server has questions of its own now and then.
    eventually("each thread is as before", || {
        let now = standing_back(clickhouse);
        left.retain(|id| now.contains(id));
        let are_all = left.is_empty();
        async move { are_all.then_some(()) }
    })
    .await;
    assert!(server.stop().await.success());
}
