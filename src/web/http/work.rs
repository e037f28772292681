//! A rate of work for each workspace: what its requests cost where they are worked off, whatever their number.
//!
//! What a request costs is known once it was read. So it is admitted while its workspace's bucket is not empty, and may take
//! the bucket below zero: the next ones wait until that is made up for. Each process counts for itself.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use kernel::WorkspaceId;
use parking_lot::Mutex;

use super::rate::Rate;

/// Number of workspaces above which those with a full bucket are removed.
const SWEEP_ABOVE: usize = 1_024;

/// The buckets of one kind of work. Clones share them.
#[derive(Debug, Clone)]
pub struct WorkspaceWork(Option<Arc<Buckets>>);

#[derive(Debug)]
struct Buckets {
    name: &'static str,
    /// The time in which one unit returns.
    interval: Duration,
    /// The time in which an empty bucket becomes full.
    depth: Duration,
    /// When the bucket of a workspace will be full; none where it is.
    full_at: Mutex<HashMap<WorkspaceId, Instant>>,
}

impl WorkspaceWork {
    pub const NONE: Self = Self(None);

    /// Units of work a second, and at once; 0 a second for no limit. The name is used in metrics.
    pub fn new(name: &'static str, rate: Rate) -> Self {
        let Some(interval) = Duration::from_secs(1).checked_div(rate.per_second) else {
            return Self::NONE;
        };
        let depth = interval * rate.burst.max(rate.per_second);
        Self(Some(Arc::new(Buckets { name, interval, depth, full_at: Mutex::default() })))
    }

    /// Takes units of work out of a workspace's bucket. Where the bucket is empty, nothing is taken, and the time is
    /// given until it is not.
    ///
    /// # Errors
    /// When the bucket is empty.
    pub fn take(&self, workspace: WorkspaceId, units: u64) -> Result<(), Duration> {
        let Some(buckets) = &self.0 else { return Ok(()) };
        let taken = buckets.take(workspace, units, Instant::now());
        if taken.is_err() {
            metrics_catalogue::HTTP_REQUESTS_THROTTLED.with([buckets.name]).increment(1);
        }
        taken
    }

    /// Returns units that were taken for work that is not done.
    pub fn give_back(&self, workspace: WorkspaceId, units: u64) {
        if let Some(buckets) = &self.0 {
            buckets.give_back(workspace, units, Instant::now());
        }
    }
}

impl Buckets {
    fn take(&self, workspace: WorkspaceId, units: u64, now: Instant) -> Result<(), Duration> {
        let mut all = self.full_at.lock();
        if all.len() > SWEEP_ABOVE {
            all.retain(|_, full_at| *full_at > now);
        }
        let full_at = all.entry(workspace).or_insert(now);
        *full_at = (*full_at).max(now);
        // What is missing to a full bucket, and how much may be missing to one with a unit left.
        let missing = full_at.saturating_duration_since(now);
        let most = self.depth.saturating_sub(self.interval);
        if missing > most {
            return Err(missing.saturating_sub(most));
        }
        *full_at += self.time_of(units);
        Ok(())
    }

    fn give_back(&self, workspace: WorkspaceId, units: u64, now: Instant) {
        if let Some(full_at) = self.full_at.lock().get_mut(&workspace) {
            *full_at = full_at.checked_sub(self.time_of(units)).unwrap_or(now).max(now);
        }
    }

    /// The time in which so many units return.
    fn time_of(&self, units: u64) -> Duration {
        self.interval * u32::try_from(units).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn buckets(per_second: u32, burst: u32) -> Arc<Buckets> {
        WorkspaceWork::new("tests", Rate { per_second, burst }).0.unwrap()
    }

    fn workspace(number: u128) -> WorkspaceId {
        WorkspaceId::new(Uuid::from_u128(number))
    }

    #[test]
    fn the_request_that_empties_a_bucket_is_admitted_and_the_next_waits() {
        let (buckets, now) = (buckets(10, 100), Instant::now());
        let take = |units| buckets.take(workspace(1), units, now);
        assert_eq!([take(99), take(1)], [Ok(()); 2], "to the last unit");
        assert_eq!(take(1), Err(Duration::from_millis(100)));
        assert_eq!(take(1), Err(Duration::from_millis(100)), "a refused request takes nothing");
        assert_eq!(buckets.take(workspace(2), 1, now), Ok(()), "another workspace has its own");
        let later = now + Duration::from_millis(100);
        assert_eq!(buckets.take(workspace(1), 1, later), Ok(()));
    }

    #[test]
    fn a_debt_is_worked_off_before_the_next_request() {
        let (buckets, now) = (buckets(10, 100), Instant::now());
        let take =
            |units, seconds| buckets.take(workspace(1), units, now + Duration::from_secs(seconds));
        assert_eq!(take(1_100, 0), Ok(()), "more than the bucket ever holds");
        // 1,000 units are owed, and one has to be there.
        assert_eq!(take(1, 0), Err(Duration::from_millis(100_100)));
        assert_eq!(take(1, 100), Err(Duration::from_millis(100)));
        assert_eq!(take(1, 101), Ok(()));
        // Full again after a silence, and not fuller.
        assert_eq!(
            [take(100, 1_000), take(1, 1_000).map_err(|_| Duration::ZERO)],
            [Ok(()), Err(Duration::ZERO)]
        );
    }

    #[test]
    fn work_that_is_not_done_is_given_back() {
        let (buckets, now) = (buckets(10, 100), Instant::now());
        buckets.take(workspace(1), 150, now).unwrap();
        buckets.give_back(workspace(1), 150, now);
        let take = |units| buckets.take(workspace(1), units, now);
        assert_eq!([take(99), take(1)], [Ok(()); 2]);
        assert!(take(1).is_err());
        buckets.give_back(workspace(1), 1_000, now);
        assert_eq!(
            [take(100), take(1)].map(|taken| taken.is_ok()),
            [true, false],
            "not fuller than full"
        );
        buckets.give_back(workspace(2), 1, now);
    }

    #[test]
    fn full_buckets_are_removed_and_none_is_no_limit() {
        let (buckets, now) = (buckets(10, 10), Instant::now());
        for number in 0..=SWEEP_ABOVE as u128 {
            buckets.take(workspace(number), 1, now).unwrap();
        }
        buckets.take(workspace(0), 1, now + Duration::from_secs(1)).unwrap();
        assert_eq!(buckets.full_at.lock().len(), 1);
        let none = WorkspaceWork::new("tests", Rate { per_second: 0, burst: 1 });
        assert!(none.take(workspace(1), u64::MAX).is_ok());
    }
}
