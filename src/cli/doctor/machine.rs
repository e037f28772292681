//! The limits of the machine: open files and memory.

use std::{fs, path::Path};

use config::Settings;
use nix::sys::resource::{Resource, getrlimit};

use super::{disk::size, finding::Finding};
use crate::server::{CONNECTIONS_MIN, OTHER_FILES};

const OPEN_FILES: &str = "open files";
const MEMORY: &str = "memory";
/// Memory of the program and of PostgreSQL beside what the settings allow, roughly.
const BASE_BYTES: u64 = 768 << 20;
/// Percent of the memory that the settings may fill without a warning.
const COMFORTABLE_PERCENT: u64 = 80;

/// All checks of limits; those of a running server where there is one.
pub(super) fn check(settings: &Settings, server_pid: Option<u32>) -> Vec<Finding> {
    let limit = server_pid.and_then(limit_of).or_else(own_limit);
    let files = match limit {
        Some(limit) => open_files(limit, settings.http.connections_max),
        None => {
            Finding::warning(OPEN_FILES, "not checked: the limit is unknown", "check ulimit -n")
        }
    };
    let memory = match available_memory() {
        Some(bytes) => memory(bytes, needed(settings)),
        None => Finding::warning(
            MEMORY,
            "not checked: the size of the memory is unknown",
            format!("provide at least {}", size(needed(settings))),
        ),
    };
    vec![files, memory]
}

fn own_limit() -> Option<u64> {
    // A server raises its limit as far as this.
    getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(_, hard)| hard)
}

/// The limit of another process.
fn limit_of(pid: u32) -> Option<u64> {
    open_files_of(&fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)
}

/// The hard limit in a file as `/proc/self/limits`.
fn open_files_of(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn open_files(limit: u64, connections_max: usize) -> Finding {
    let wanted = u64::try_from(connections_max).unwrap_or(u64::MAX).saturating_add(OTHER_FILES);
    let least = OTHER_FILES + CONNECTIONS_MIN as u64;
    let what = format!("{limit} may be open; {connections_max} connections need {wanted}");
    let action = format!("set ulimit -n, or LimitNOFILE of systemd, to {wanted} or more");
    if limit < least {
        Finding::wrong(OPEN_FILES, what, action)
    } else if limit < wanted {
        Finding::warning(OPEN_FILES, what, format!("{action}, or lower http.connections_max"))
    } else {
        Finding::ok(OPEN_FILES, what)
    }
}

/// Memory that the settings allow the server and its engines.
fn needed(settings: &Settings) -> u64 {
    let bytes = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let engine = match settings.clickhouse_url {
        Some(_) => 0,
        None => settings.engines.clickhouse_memory_bytes + bytes(settings.ingest.landed_keys_bytes),
    };
    BASE_BYTES
        .saturating_add(engine)
        .saturating_add(bytes(settings.http.body_bytes))
        .saturating_add(bytes(settings.ingest.queue_bytes))
}

/// Memory of the machine or of the control group, the smaller of them.
fn available_memory() -> Option<u64> {
    let machine = total_of(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = group_limit(Path::new("/sys/fs/cgroup"), &groups);
    Some(limit.map_or(machine, |limit| limit.min(machine)))
}

/// The total in a file as `/proc/meminfo`.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The smallest `memory.max` of the group in a file as `/proc/self/cgroup` and of those above it.
fn group_limit(root: &Path, groups: &str) -> Option<u64> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = root.join(path);
    let within = folder.ancestors().take_while(|step| step.starts_with(root));
    within
        .filter_map(|step| fs::read_to_string(step.join("memory.max")).ok()?.trim().parse().ok())
        .min()
}

fn memory(available: u64, needed: u64) -> Finding {
    let what = format!("{}; the settings allow {}", size(available), size(needed));
    let action = "lower engines.clickhouse_memory_bytes and http.body_bytes, or add memory";
    if needed > available {
        Finding::wrong(MEMORY, what, format!("{action}: the kernel would end processes"))
    } else if needed > available / 100 * COMFORTABLE_PERCENT {
        Finding::warning(MEMORY, what, action)
    } else {
        Finding::ok(MEMORY, what)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::finding::Status, *};

    #[test]
    fn limits_are_compared_with_the_settings() {
        for (limit, status) in [
            (20_000, Status::Ok),
            (10_512, Status::Ok),
            (1024, Status::Warning),
            (256, Status::Wrong),
        ] {
            assert_eq!(open_files(limit, 10_000).status, status, "{limit}");
        }
        for (available, status) in
            [(1000, Status::Ok), (600, Status::Warning), (499, Status::Wrong)]
        {
            assert_eq!(memory(available, 500).status, status, "{available}");
        }
    }

    #[test]
    fn files_of_the_kernel_are_parsed() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  524288  files\n";
        assert_eq!(open_files_of(limits), Some(524_288));
        assert_eq!(open_files_of("Max processes 1 2"), None);
        assert_eq!(total_of("MemFree: 1 kB\nMemTotal:   2048 kB\n"), Some(2 << 20));
        assert_eq!(total_of(""), None);
    }

    #[test]
    fn the_smallest_limit_of_nested_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("system.slice/millrace.service");
        fs::create_dir_all(&inner).unwrap();
        let groups = "1:cpu:/\n0::/system.slice/millrace.service\n";
        assert_eq!(group_limit(root.path(), groups), None);
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        fs::write(root.path().join("system.slice/memory.max"), "4096\n").unwrap();
        assert_eq!(group_limit(root.path(), groups), Some(4096));
        fs::write(inner.join("memory.max"), "1024\n").unwrap();
        assert_eq!(group_limit(root.path(), groups), Some(1024));
        assert_eq!(group_limit(root.path(), ""), None);
    }
}
