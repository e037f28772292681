//! The limit of open files of this process. Each connection is one.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files for everything but connections: the spool, both stores, providers.
pub(crate) const OTHER_FILES: u64 = 512;
/// Connections that are accepted however low the limit is.
pub(crate) const CONNECTIONS_MIN: usize = 64;

/// Raises the limit as far as allowed, and returns how many of `wanted` connections fit into it.
pub(super) fn connections(wanted: usize) -> usize {
    let limit = match raised() {
        Ok(limit) => limit,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files is not known");
            return wanted;
        }
    };
    let fit = usize::try_from(limit.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX);
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

/// The limit after raising it as far as possible without privileges.
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
    fn connections_are_limited_by_open_files() {
        assert_eq!(connections(1), 1);
        let limit = usize::try_from(raised().unwrap()).unwrap();
        assert!(connections(usize::MAX) <= limit.max(CONNECTIONS_MIN));
        assert!(connections(usize::MAX) >= CONNECTIONS_MIN);
    }
}
