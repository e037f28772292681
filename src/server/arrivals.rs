//! Arrival numbers of events, increasing in the order of arrival even if the clocks of processes differ.
//!
//! A process continues after the largest number in its spool and in ClickHouse, and from then on counts by
//! ClickHouse's clock, which it reads every few seconds. A process whose clock is far behind does not start:
//! it would give events wrong times.

use std::time::Duration;

use analytics::{AnalyticsError, events};
use anyhow::bail;
use ingest::record::Sequence;
use kernel::Timestamp;
use supervisor::Heartbeat;

use crate::app::App;

/// How long a start waits for ClickHouse before it continues without.
const START_MAX: Duration = Duration::from_secs(3);
const CLOCK_INTERVAL: Duration = Duration::from_secs(10);
/// Readings of ClickHouse's clock in one measurement.
const READINGS: u32 = 3;
/// A slower answer is too inaccurate.
const READING_MAX: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error(
    "the clock of this machine says {now}, which is {behind_seconds} seconds before {what}: set the clock, \
     or raise ingest.clock_behind_max_seconds if that time is wrong"
)]
pub(super) struct ClockBehind {
    now: Timestamp,
    behind_seconds: i64,
    what: &'static str,
}

/// How far this machine's clock may be behind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    pub(super) behind_max_seconds: u32,
}

impl Clocks {
    /// Refuses a clock that is far behind `other_ms`, described by `what`.
    pub(super) fn check(
        self,
        now: Timestamp,
        other_ms: i64,
        what: &'static str,
    ) -> Result<(), ClockBehind> {
        let behind_seconds = (other_ms - now.millis()) / 1000;
        if behind_seconds <= i64::from(self.behind_max_seconds) {
            Ok(())
        } else {
            Err(ClockBehind { now, behind_seconds, what })
        }
    }

    /// Continues after ClickHouse's largest number, by its clock.
    ///
    /// # Errors
    /// If this machine's clock is far behind, or ClickHouse is unavailable.
    pub(super) async fn follow(self, app: &App) -> anyhow::Result<()> {
        let ahead_ms = clock_offset(app).await?;
        let now = app.clock().now();
        self.check(now, now.millis() + ahead_ms, "that of ClickHouse")?;
        let newest = newest_arrival(app).await?;
        self.check(now, Sequence::time_ms(newest), "the newest event that is stored")?;
        app.intake().sequence().raise(newest);
        app.intake().sequence().set_ahead_ms(ahead_ms);
        Ok(())
    }

    /// The same before anything is accepted, if ClickHouse is reachable; otherwise the process starts, and
    /// inserts nothing before it could read the clock.
    ///
    /// # Errors
    /// If this machine's clock is far behind.
    pub(super) async fn follow_at_start(self, app: &App) -> anyhow::Result<()> {
        match tokio::time::timeout(START_MAX, self.follow(app)).await {
            Ok(Err(error)) if error.is::<ClockBehind>() => return Err(error),
            Ok(Err(error)) => tracing::warn!(
                %error,
                "the newest event cannot be read from ClickHouse yet; arrival numbers follow this machine's clock"
            ),
            Err(_) => tracing::warn!(
                "ClickHouse does not answer yet; arrival numbers follow this machine's clock"
            ),
            Ok(Ok(())) => {}
        }
        Ok(())
    }
}

/// The largest stored number; 0 if there are too many events to find it in time: then ClickHouse's clock
/// alone counts, which is right as long as it was right before.
async fn newest_arrival(app: &App) -> Result<u64, AnalyticsError> {
    match events::newest_arrival(app.analytics()).await {
        Err(
            error @ (AnalyticsError::Timeout(_)
            | AnalyticsError::TooMuch(_)
            | AnalyticsError::OutOfMemory(_)),
        ) => {
            tracing::warn!(%error, "the newest stored event is not known; arrival numbers follow ClickHouse's clock only");
            Ok(0)
        }
        newest => newest,
    }
}

/// Keeps the numbers aligned with ClickHouse's clock.
pub(super) async fn watch(app: App, heartbeat: Heartbeat) {
    loop {
        heartbeat.waiting(tokio::time::sleep(CLOCK_INTERVAL)).await;
        // Another task reports whether ClickHouse is reachable; the last reading stays valid.
        if let Ok(ahead_ms) = clock_offset(&app).await {
            app.intake().sequence().set_ahead_ms(ahead_ms);
        }
    }
}

/// By how many milliseconds ClickHouse's clock is ahead of this machine's. The fastest of several answers is
/// the most accurate: its error is at most half of its duration.
async fn clock_offset(app: &App) -> anyhow::Result<i64> {
    let mut quickest_ms = i64::MAX;
    let mut ahead_ms = 0;
    for _ in 0..READINGS {
        let before = app.clock().now().millis();
        let answered = tokio::time::timeout(READING_MAX, events::clock_ms(app.analytics())).await;
        let Ok(there) = answered else {
            bail!("ClickHouse took longer than {READING_MAX:?} to answer")
        };
        let after = app.clock().now().millis();
        let there = there?;
        if after - before < quickest_ms {
            quickest_ms = after - before;
            ahead_ms = there - before.midpoint(after);
        }
    }
    Ok(ahead_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_may_be_behind_by_the_limit_only() {
        let clocks = Clocks { behind_max_seconds: 3600 };
        let now = Timestamp::from_millis(10_000_000_000);
        for ahead_ms in [-9_000_000, 0, 3_600_000, 3_600_999] {
            clocks.check(now, now.millis() + ahead_ms, "that of ClickHouse").unwrap();
        }
        let refusal = clocks.check(now, now.millis() + 3_601_000, "that of ClickHouse");
        let refusal = refusal.unwrap_err().to_string();
        assert!(
            refusal.contains("3601 seconds before that of ClickHouse")
                && refusal.contains("ingest.clock_behind_max_seconds"),
            "{refusal}"
        );
    }
}
