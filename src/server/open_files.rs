//! How many files this process may have open. Each connection is one.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files kept for everything but connections: the spool, both stores, providers.
const OTHERS: u64 = 512;
/// Connections that are let in however few files there are.
const CONNECTIONS_MIN: usize = 64;

/// Raises the process's limit as far as it may, and says how many of `wanted` connections fit into it.
pub(super) fn connections(wanted: usize) -> usize {
    let limit = match raised() {
        Ok(limit) => limit,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files is not known");
            return wanted;
        }
    };
    let fit = usize::try_from(limit.saturating_sub(OTHERS)).unwrap_or(usize::MAX);
    let fit = fit.max(CONNECTIONS_MIN);
    if fit < wanted {
        tracing::warn!(
            open_files = limit,
            connections = fit,
            "the limit of open files (ulimit -n) allows fewer connections than http.connections_max"
        );
    }
    wanted.min(fit)
}

/// The process's limit after it was raised to the most that is allowed without privileges.
fn raised() -> nix::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() {
        return Ok(hard);
    }
    Ok(soft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_connections_as_there_are_files_for() {
        assert_eq!(connections(1), 1);
        let limit = usize::try_from(raised().unwrap()).unwrap();
        assert!(connections(usize::MAX) <= limit.max(CONNECTIONS_MIN));
        assert!(connections(usize::MAX) >= CONNECTIONS_MIN);
    }
}
