//! What waits on this disk: the spool and dead letters.

use config::Settings;
use engines::DataDir;
use ingest::{
    pipeline::dead_letters,
    spool::{Survey, survey},
};
use kernel::Timestamp;

use super::{disk::size, finding::Finding};

const SPOOL: &str = "spool";
const UNREAD: &str = "spool backlog";
const DEAD_LETTERS: &str = "dead letters";
/// Percent of its limit from which the spool is a concern, and from which it is about to refuse events.
const FILLED_PERCENT: u64 = 50;
const FULL_PERCENT: u64 = 90;
/// A running server stores events within seconds.
const AGE_MAX_MS: i64 = 60_000;

/// Reads the spool's files; none if there is no spool.
pub(super) fn read_spool(data: Option<&DataDir>) -> std::io::Result<Option<Survey>> {
    data.map_or(Ok(None), |data| survey(&data.spool()))
}

/// All checks of what waits.
pub(super) fn check(
    settings: &Settings,
    data: &DataDir,
    spool: &std::io::Result<Option<Survey>>,
    moment: Moment,
) -> Vec<Finding> {
    let mut findings = match spool {
        Ok(Some(spool)) => {
            let mut findings = vec![room(spool, settings.spool.limit_bytes)];
            findings.push(unread(spool, moment));
            findings.extend(damaged(spool));
            findings
        }
        Ok(None) => vec![Finding::ok(SPOOL, "none yet; a start creates it")],
        Err(error) => vec![Finding::wrong(
            SPOOL,
            format!("its files cannot be read: {error}"),
            "give the data directory to the user that runs Millrace",
        )],
    };
    findings.push(match dead_letters::list(&data.dead_letters()) {
        Ok(letters) => of_dead_letters(letters.len()),
        Err(error) => Finding::wrong(
            DEAD_LETTERS,
            format!("they cannot be read: {error}"),
            "give the data directory to the user that runs Millrace",
        ),
    });
    findings
}

/// When the check is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) now: Timestamp,
    pub(super) server_runs: bool,
}

fn room(spool: &Survey, limit: u64) -> Finding {
    let what = format!("{} of {} used", size(spool.used_bytes), size(limit));
    let percent = |percent: u64| limit / 100 * percent;
    let action = "see why events are not stored (spool backlog), or raise spool.limit_bytes";
    if spool.used_bytes >= percent(FULL_PERCENT) {
        Finding::wrong(SPOOL, format!("{what}: events are about to be refused"), action)
    } else if spool.used_bytes >= percent(FILLED_PERCENT) {
        Finding::warning(SPOOL, what, action)
    } else {
        Finding::ok(SPOOL, what)
    }
}

/// The consumer that is furthest behind.
fn unread(spool: &Survey, moment: Moment) -> Finding {
    let behind = spool.consumers.iter().filter_map(|it| Some((it.oldest_ms?, &it.consumer)));
    let Some((oldest_ms, consumer)) = behind.min() else {
        return Finding::ok(UNREAD, "everything was read");
    };
    let age_ms = moment.now.millis() - i64::try_from(oldest_ms).unwrap_or(i64::MAX);
    let what = format!("{consumer} has not read events of {} s ago", age_ms / 1000);
    if !moment.server_runs {
        return Finding::ok(UNREAD, format!("{what}; the next start goes on with them"));
    }
    if age_ms > AGE_MAX_MS {
        let action = "see the findings on the stores, and the log of the server for the reason";
        return Finding::warning(UNREAD, what, action);
    }
    Finding::ok(UNREAD, what)
}

fn damaged(spool: &Survey) -> Option<Finding> {
    (spool.damaged > 0).then(|| {
        Finding::warning(
            SPOOL,
            format!("{} segments in which nothing could be read", spool.damaged),
            "check the disk; keep damaged-*.seg for an analysis, then remove them",
        )
    })
}

fn of_dead_letters(count: usize) -> Finding {
    if count == 0 {
        return Finding::ok(DEAD_LETTERS, "none");
    }
    Finding::warning(
        DEAD_LETTERS,
        format!("{count} rows that ClickHouse refused"),
        "millrace dead-letters list shows why; after a repair, millrace dead-letters retry",
    )
}

#[cfg(test)]
mod tests {
    use ingest::spool::Backlog;

    use super::{super::finding::Status, *};

    #[test]
    fn a_spool_that_fills_is_reported_before_it_is_full() {
        let of = |used| room(&Survey { used_bytes: used, ..Survey::default() }, 1000).status;
        assert_eq!([of(499), of(500), of(899), of(900)], {
            use Status::{Ok, Warning, Wrong};
            [Ok, Warning, Warning, Wrong]
        });
    }

    #[test]
    fn old_events_are_a_concern_while_a_server_runs() {
        let backlog = |name: &str, oldest_ms| Backlog { consumer: name.to_owned(), oldest_ms };
        let spool = |oldest| Survey {
            consumers: vec![backlog("clickhouse", oldest), backlog("triggers", None)],
            ..Survey::default()
        };
        let at = |server_runs| Moment { now: Timestamp::from_millis(1_000_000), server_runs };
        assert_eq!(unread(&spool(None), at(true)).status, Status::Ok);
        assert_eq!(unread(&spool(Some(940_000)), at(true)).status, Status::Ok);
        let late = unread(&spool(Some(900_000)), at(true));
        assert_eq!(late.status, Status::Warning);
        assert!(late.what.contains("clickhouse") && late.what.contains("100 s"), "{late:?}");
        assert_eq!(unread(&spool(Some(900_000)), at(false)).status, Status::Ok);
    }

    #[test]
    fn dead_letters_and_damage_are_reported() {
        assert_eq!(of_dead_letters(0).status, Status::Ok);
        assert_eq!(of_dead_letters(2).status, Status::Warning);
        assert!(damaged(&Survey::default()).is_none());
        assert!(damaged(&Survey { damaged: 1, ..Survey::default() }).is_some());
    }
}
