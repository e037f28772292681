//! Ends a server that an earlier run left behind, identified by its mark.

use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{super::Error, cluster::Mark};

/// How long each way of stopping may take: "fast", "immediate", and the kernel's.
const STOPS: [(Signal, Duration); 3] = [
    (Signal::SIGINT, Duration::from_secs(10)),
    (Signal::SIGQUIT, Duration::from_secs(5)),
    (Signal::SIGKILL, Duration::from_secs(5)),
];
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Ends the server that holds `cluster`, if one runs; removes a lock file whose pid belongs to another
/// program.
pub(super) async fn end(cluster: &Path, mark: &Mark) -> Result<(), Error> {
    let file = cluster.join("postmaster.pid");
    let pid = match fs::read_to_string(&file) {
        Ok(text) => {
            text.lines().next().and_then(|line| line.trim().parse().ok()).map(Pid::from_raw)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::file("read", &file)(error)),
    };
    let Some(pid) = pid.filter(|pid| pid.as_raw() > 1 && lives(*pid)) else {
        return Ok(()); // PostgreSQL takes over the file of a process that has ended
    };
    let Ok(command_line) = fs::read(format!("/proc/{pid}/cmdline")) else {
        return Ok(()); // it has just ended, or there is no /proc: PostgreSQL decides
    };
    if !contains(&command_line, mark.text().as_bytes()) {
        tracing::warn!(%pid, "removing a PostgreSQL lock file whose pid belongs to another program now");
        return fs::remove_file(&file).map_err(Error::file("remove", &file));
    }
    for (signal, patience) in STOPS {
        tracing::warn!(%pid, %signal, "ending a PostgreSQL that an earlier run left behind");
        match kill(pid, signal) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => {
                return Err(Error::Start {
                    engine: "PostgreSQL",
                    reason: format!(
                        "the server of an earlier run (pid {pid}) cannot be ended: {error}"
                    ),
                });
            }
        }
        let deadline = Instant::now() + patience;
        while lives(pid) && Instant::now() < deadline {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        if !lives(pid) {
            return Ok(());
        }
    }
    Err(Error::Start {
        engine: "PostgreSQL",
        reason: format!("the server of an earlier run (pid {pid}) does not end"),
    })
}

/// Whether the process runs; a zombie counts as ended.
fn lives(pid: Pid) -> bool {
    if kill(pid, None) == Err(Errno::ESRCH) {
        return false;
    }
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    // The state follows the name, which is in parentheses and may hold any characters.
    stat.rsplit_once(") ").is_none_or(|(_, rest)| !rest.starts_with('Z'))
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}
