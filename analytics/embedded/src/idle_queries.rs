//! Queries at a high nice value run when nothing else wants a core.
//!
//! A thread at nice 15 that runs keeps its core until its time slice ends, about three milliseconds, while a thread that
//! was woken for an acknowledgement waits. `SCHED_IDLE` gives the core back at once. The engine sets the nice value of a
//! query's threads and takes it back with the query's end (`os_threads_nice_value_query`), but knows no such policy.
//! So the policy follows the nice value: a look at all threads takes a fifth of a millisecond.

use std::{collections::BTreeSet, fs, io, thread, time::Duration};

use crate::ffi;

/// Least nice value of threads that run when nothing else wants a core. The merges have a smaller one.
const NICE_LEAST: i32 = 15;
/// Interval between two looks at the threads.
const INTERVAL: Duration = Duration::from_millis(100);

/// Lets the policy of this process's threads follow their nice values, for the life of the process.
pub(crate) fn follow_nice_values() -> io::Result<()> {
    let body = || {
        let mut idle = BTreeSet::new();
        loop {
            if let Err(error) = follow(&mut idle) {
                tracing::warn!(%error, "queries keep their nice value: they cannot be made to wait for all others");
                return;
            }
            thread::sleep(INTERVAL);
        }
    };
    thread::Builder::new().name("query-policy".to_owned()).spawn(body).map(drop)
}

/// Sets the policy of the threads whose nice value has changed; `idle` are those that run when nothing else does.
fn follow(idle: &mut BTreeSet<u32>) -> io::Result<()> {
    let threads = threads()?;
    idle.retain(|thread| threads.contains(thread));
    for thread in threads {
        let stands_back = ffi::nice_value(thread) >= NICE_LEAST;
        if stands_back == idle.contains(&thread) {
            continue;
        }
        let id = thread.cast_signed();
        let set = if stands_back { ffi::run_when_idle(id) } else { ffi::run_in_turn(id) };
        match set {
            Ok(()) if stands_back => {
                idle.insert(thread);
            }
            Ok(()) => {
                idle.remove(&thread);
            }
            // It has ended since.
            Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH) => {
                idle.remove(&thread);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The ids of this process's threads.
fn threads() -> io::Result<BTreeSet<u32>> {
    let mut threads = BTreeSet::new();
    for entry in fs::read_dir("/proc/self/task")? {
        threads.extend(entry?.file_name().to_str().and_then(|id| id.parse::<u32>().ok()));
    }
    Ok(threads)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{process::Command, sync::mpsc};

    use super::*;
    use crate::merges::tests::policy;

    /// `SCHED_OTHER` and `SCHED_IDLE` as proc(5) shows them.
    const OTHER: &str = "0";
    const IDLE: &str = "5";

    fn set_nice(thread: u32, value: i32) -> bool {
        let mut renice = Command::new("renice");
        renice.args(["-n", &value.to_string(), "-p", &thread.to_string()]);
        renice.output().expect("renice runs").status.success()
    }

    #[test]
    fn the_policy_follows_the_nice_value_there_and_back() {
        let (send, receive) = mpsc::channel();
        let (running, ended) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            let path = fs::read_link("/proc/thread-self").unwrap();
            send.send(path.file_name().unwrap().to_str().unwrap().parse::<u32>().unwrap()).unwrap();
            ended.recv().unwrap_err();
        });
        let thread = receive.recv().unwrap();
        let now = || policy(thread.cast_signed());
        let mut idle = BTreeSet::new();
        for (nice, expected) in [(0, OTHER), (14, OTHER), (15, IDLE), (19, IDLE)] {
            assert!(set_nice(thread, nice));
            follow(&mut idle).unwrap();
            assert_eq!(now(), expected, "nice {nice}");
        }
        // Who may not take a nice value back has engines that do not either.
        if set_nice(thread, 0) {
            follow(&mut idle).unwrap();
            assert_eq!(now(), OTHER);
            assert!(idle.is_empty());
        }
        drop(running);
        other.join().unwrap();
        follow(&mut idle).unwrap();
        assert!(!idle.contains(&thread));
    }
}
