//! The machine's clock beside those of the stores. No other host is asked.

use std::time::Duration;

use analytics::{Analytics, events};
use kernel::Clock;
use sqlx::PgPool;
use tokio::time::timeout;
use web::db::server_settings;

use super::finding::Finding;

const CLOCK: &str = "clock";
const READINGS: u32 = 3;
const READING_MAX: Duration = Duration::from_secs(2);
/// A larger difference is visible in times of events and of sends.
const DIFFERENCE_MAX_MS: i64 = 1000;

/// A store's clock, with the difference to this machine's.
#[derive(Debug, Clone, Copy)]
struct Difference {
    store: &'static str,
    /// How far the store's clock is ahead.
    ahead_ms: i64,
}

pub(super) async fn of_postgres(pool: &PgPool, clock: &Clock) -> Finding {
    let read = async || -> anyhow::Result<i64> { Ok(server_settings::clock_ms(pool).await?) };
    // PostgreSQL's clock stamps no events.
    finding("PostgreSQL", ahead_ms(clock, read).await, None)
}

/// A server whose clock is further behind than `behind_max_seconds` does not start.
pub(super) async fn of_clickhouse(
    analytics: &Analytics,
    clock: &Clock,
    behind_max_seconds: u32,
) -> Finding {
    let read = async || -> anyhow::Result<i64> { Ok(events::clock_ms(analytics).await?) };
    finding("ClickHouse", ahead_ms(clock, read).await, Some(behind_max_seconds))
}

/// The difference by the fastest of several readings, which is the most accurate.
async fn ahead_ms(
    clock: &Clock,
    read: impl AsyncFn() -> anyhow::Result<i64>,
) -> anyhow::Result<i64> {
    let (mut quickest_ms, mut ahead_ms) = (i64::MAX, 0);
    for _ in 0..READINGS {
        let before = clock.now().millis();
        let there = timeout(READING_MAX, read()).await??;
        let after = clock.now().millis();
        if after - before < quickest_ms {
            quickest_ms = after - before;
            ahead_ms = there - before.midpoint(after);
        }
    }
    Ok(ahead_ms)
}

fn finding(
    store: &'static str,
    ahead_ms: anyhow::Result<i64>,
    behind_max_seconds: Option<u32>,
) -> Finding {
    match ahead_ms {
        Ok(ahead_ms) => compare(Difference { store, ahead_ms }, behind_max_seconds),
        Err(error) => Finding::warning(
            CLOCK,
            format!("not compared with {store}'s: {error:#}"),
            "see the findings on the store",
        ),
    }
}

fn compare(found: Difference, behind_max_seconds: Option<u32>) -> Finding {
    let Difference { store, ahead_ms } = found;
    let direction = if ahead_ms < 0 { "ahead of" } else { "behind" };
    let what = format!("{} ms {direction} {store}'s", ahead_ms.abs());
    let action = format!("synchronise the clocks of this machine and of {store} by NTP");
    if behind_max_seconds.is_some_and(|most| ahead_ms > i64::from(most) * 1000) {
        let what = format!("{what}, more than ingest.clock_behind_max_seconds: no server starts");
        Finding::wrong(CLOCK, what, action)
    } else if ahead_ms.abs() > DIFFERENCE_MAX_MS {
        Finding::warning(CLOCK, what, action)
    } else {
        Finding::ok(CLOCK, what)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::finding::Status, *};

    #[test]
    fn a_clock_may_be_off_by_a_second_and_not_behind_by_the_limit() {
        let of =
            |ahead_ms, most| compare(Difference { store: "ClickHouse", ahead_ms }, most).status;
        for (ahead_ms, status) in [
            (0, Status::Ok),
            (1000, Status::Ok),
            (-1000, Status::Ok),
            (1001, Status::Warning),
            (-90_000_000, Status::Warning),
            (3_600_000, Status::Warning),
            (3_600_001, Status::Wrong),
        ] {
            assert_eq!(of(ahead_ms, Some(3600)), status, "{ahead_ms}");
        }
        assert_eq!(of(90_000_000, None), Status::Warning);
        let behind = compare(Difference { store: "ClickHouse", ahead_ms: 5000 }, None);
        assert!(behind.what.contains("5000 ms behind ClickHouse's"), "{behind:?}");
    }
}
