//! Merges run when nothing else wants a core.
//!
//! A nice value (see `configuration`) only makes their share small. While inserts and questions keep all cores busy, that
//! share is taken from the rows that wait to be stored, and a thread that is woken for an acknowledgement waits behind a
//! merge's time slice. Linux's policy `SCHED_IDLE` lets every other thread go first, at once. Should parts become too
//! many, ClickHouse delays inserts (`parts_to_delay_insert`), which leaves time for merges.

use std::{collections::BTreeSet, fs, io, thread, time::Duration};

use crate::ffi;

/// What the engine names its threads that merge.
const THREAD_NAME: &str = "MergeMutate";
/// Interval of looks for threads that began since.
const INTERVAL: Duration = Duration::from_secs(2);

/// Sets the policy of the merging threads, of those that begin later too, for the life of the process.
pub(crate) fn let_others_go_first(threads: u32) -> io::Result<()> {
    let body = move || {
        let mut done = BTreeSet::new();
        while done.len() < threads as usize {
            if let Err(error) = set_policy(&mut done) {
                tracing::warn!(%error, "merges keep their nice value: they cannot be made to wait for all others");
                return;
            }
            thread::sleep(INTERVAL);
        }
    };
    thread::Builder::new().name("merge-policy".to_owned()).spawn(body).map(drop)
}

/// Sets the policy of those threads that merge now, but for those that are done.
fn set_policy(done: &mut BTreeSet<i32>) -> io::Result<()> {
    for thread in threads_named(THREAD_NAME)? {
        if !done.contains(&thread) {
            ffi::run_when_idle(thread)?;
            done.insert(thread);
        }
    }
    Ok(())
}

/// The ids of this process's threads of a name.
fn threads_named(wanted: &str) -> io::Result<Vec<i32>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        let path = entry?.path();
        // A thread may have ended since.
        let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
        if name.trim_end() == wanted {
            let id =
                path.file_name().and_then(|id| id.to_str()).and_then(|id| id.parse::<i32>().ok());
            threads.extend(id);
        }
    }
    Ok(threads)
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Instant};

    use super::*;

    /// The policy of a thread, the 41st field of proc(5); 5 is `SCHED_IDLE`.
    fn policy(thread: i32) -> String {
        let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
        let after_name = stat.rsplit_once(") ").unwrap().1;
        after_name.split(' ').nth(41 - 3).unwrap().to_owned()
    }

    #[test]
    fn threads_that_merge_get_the_policy_and_others_keep_theirs() {
        let start = |name: &str| {
            let (stop, stopped) = mpsc::channel::<()>();
            let wait = move || {
                let _ = stopped.recv();
            };
            thread::Builder::new().name(name.to_owned()).spawn(wait).unwrap();
            stop
        };
        let _merging = [start(THREAD_NAME), start(THREAD_NAME)];
        let _other = start("MergeOther");
        let deadline = Instant::now() + Duration::from_secs(20);
        let await_named = |name: &str, count: usize| {
            loop {
                let threads = threads_named(name).unwrap();
                if threads.len() == count {
                    return threads;
                }
                assert!(Instant::now() < deadline, "the threads have their names");
                thread::yield_now();
            }
        };
        let (merging, others) = (await_named(THREAD_NAME, 2), await_named("MergeOther", 1));
        let_others_go_first(2).unwrap();
        while merging.iter().any(|id| policy(*id) != "5") {
            assert!(Instant::now() < deadline, "the policy is set");
            thread::yield_now();
        }
        assert_ne!(policy(others[0]), "5");
    }
}
