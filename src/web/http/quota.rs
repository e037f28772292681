//! A quota for each workspace: at most so many requests of a kind in any minute, from all of its callers
//! together.
//!
//! Each process counts for itself. A handler takes from the quota ([`Quota`]) once its caller is authorised, so
//! refused callers use up nothing.

use std::{
    collections::{HashMap, VecDeque},
    convert::Infallible,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{
    extract::{FromRequestParts, Request},
    middleware,
    middleware::Next,
    response::Response,
};
use http::request::Parts;
use kernel::{Error, Result, Timestamp, WorkspaceId};
use parking_lot::Mutex;
use utoipa_axum::router::OpenApiRouter;

use super::rate::{self, RateLimitStatus, RatePolicy};

/// The period of a quota.
const WINDOW: Duration = Duration::from_mins(1);
/// Number of workspaces above which inactive ones are removed.
const SWEEP_ABOVE: usize = 1_024;

/// The quotas of one kind of request. Clones share the counts.
#[derive(Debug, Clone)]
pub struct WorkspaceQuota(Option<Arc<Counts>>);

#[derive(Debug)]
struct Counts {
    name: &'static str,
    max: u32,
    /// The times of the requests of the last minute, oldest first.
    taken: Mutex<HashMap<WorkspaceId, VecDeque<Timestamp>>>,
}

impl WorkspaceQuota {
    pub const NONE: Self = Self(None);

    /// At most so many requests a minute; 0 for no limit. The name is used in `RateLimit-Policy` and in metrics.
    pub fn per_minute(name: &'static str, max: u32) -> Self {
        let counts = || Arc::new(Counts { name, max, taken: Mutex::default() });
        Self((max > 0).then(counts))
    }
}

impl Counts {
    fn take(
        &self,
        workspace: WorkspaceId,
        now: Timestamp,
    ) -> Result<RateLimitStatus, RateLimitStatus> {
        let window = i64::try_from(WINDOW.as_millis()).unwrap_or(i64::MAX);
        let is_over = |at: &Timestamp| at.millis() <= now.millis().saturating_sub(window);
        let mut all = self.taken.lock();
        if all.len() > SWEEP_ABOVE {
            all.retain(|_, taken| !taken.back().is_none_or(is_over));
        }
        let taken = all.entry(workspace).or_default();
        // If the clock was set back, some times are in the future.
        for at in taken.iter_mut() {
            *at = (*at).min(now);
        }
        while taken.front().is_some_and(is_over) {
            taken.pop_front();
        }
        let max = usize::try_from(self.max).unwrap_or(usize::MAX);
        let is_full = taken.len() >= max;
        if !is_full {
            taken.push_back(now);
        }
        let oldest = taken.front().copied().unwrap_or(now);
        let wait = oldest.millis().saturating_add(window).saturating_sub(now.millis());
        let status = RateLimitStatus {
            remaining: u32::try_from(max - taken.len()).unwrap_or(u32::MAX),
            reset: Duration::from_millis(wait.unsigned_abs()),
        };
        if is_full { Err(status) } else { Ok(status) }
    }
}

/// The quota that a handler takes its request from.
#[derive(Debug, Clone, Default)]
pub struct Quota(Option<(Arc<Counts>, Arc<OnceLock<RateLimitStatus>>)>);

impl Quota {
    /// Counts a request of a workspace.
    ///
    /// # Errors
    /// 429 when the workspace has no requests left.
    pub fn take(&self, workspace: WorkspaceId, now: Timestamp) -> Result<()> {
        let Some((counts, status)) = &self.0 else { return Ok(()) };
        let taken = counts.take(workspace, now);
        let (Ok(found) | Err(found)) = taken;
        // A handler takes once, so this cannot fail.
        let _ = status.set(found);
        if taken.is_ok() {
            return Ok(());
        }
        metrics_catalogue::HTTP_REQUESTS_THROTTLED.with([counts.name]).increment(1);
        Err(Error::Throttled { retry_after: found.reset })
    }
}

impl<S: Sync> FromRequestParts<S> for Quota {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

/// Gives the routes of a router a quota. Their handlers take from it with [`Quota`], and every answer then
/// reports the remaining requests.
pub fn limited<S>(routes: OpenApiRouter<S>, quota: &WorkspaceQuota) -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let Some(counts) = quota.0.clone() else { return routes };
    routes.layer(middleware::from_fn(move |request: Request, next: Next| {
        answer(Arc::clone(&counts), request, next)
    }))
}

async fn answer(counts: Arc<Counts>, mut request: Request, next: Next) -> Response {
    let status = Arc::new(OnceLock::new());
    request.extensions_mut().insert(Quota(Some((Arc::clone(&counts), Arc::clone(&status)))));
    let mut response = next.run(request).await;
    if let Some(status) = status.get() {
        let policy = RatePolicy { name: counts.name, quota: counts.max, window: WINDOW };
        rate::describe(&policy, *status, response.headers_mut());
    }
    response
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn each_workspace_has_its_quota_in_any_minute() {
        let counts = WorkspaceQuota::per_minute("tests", 3).0.unwrap();
        let (one, two) =
            (WorkspaceId::new(Uuid::from_u128(1)), WorkspaceId::new(Uuid::from_u128(2)));
        let left: Vec<u32> =
            [0, 10_000, 20_000].map(|ms| counts.take(one, at(ms)).unwrap().remaining).to_vec();
        assert_eq!(left, [2, 1, 0]);
        let refused = counts.take(one, at(59_999)).unwrap_err();
        assert_eq!((refused.remaining, refused.reset), (0, Duration::from_millis(1)));
        assert_eq!(counts.take(two, at(59_999)).unwrap().remaining, 2);
        assert!(counts.take(one, at(60_000)).is_ok(), "the first is a minute ago");
        assert_eq!(counts.take(one, at(60_000)).unwrap_err().reset, Duration::from_secs(10));
    }

    #[test]
    fn a_clock_that_was_set_back_blocks_a_workspace_for_at_most_a_minute() {
        let counts = WorkspaceQuota::per_minute("tests", 1).0.unwrap();
        let one = WorkspaceId::new(Uuid::from_u128(1));
        counts.take(one, at(10_000_000)).unwrap();
        assert_eq!(counts.take(one, at(0)).unwrap_err().reset, WINDOW);
        assert!(counts.take(one, at(60_000)).is_ok());
    }

    #[test]
    fn none_is_no_limit() {
        assert!(WorkspaceQuota::per_minute("tests", 0).0.is_none());
        assert!(Quota::default().take(WorkspaceId::new(Uuid::from_u128(1)), at(0)).is_ok());
    }
}
