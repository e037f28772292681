//! Asks ClickHouse, and computes answers.

pub mod catalog;
mod funnels;
mod histories;
mod members;
mod retention;
pub mod saved;
mod trends;

pub use self::{
    funnels::{FunnelAnswer, funnel},
    retention::retention,
    trends::{SeriesCurves, TrendsAnswer, trends},
};

use std::{sync::Arc, time::Duration};

use analytics::Analytics;
use contacts::ContactState;
use kernel::{
    Error, Result, WorkspaceId,
    store::{Store, StoreFault},
};
use tokio::time::timeout;
use web::{
    http::health,
    shares::{ShareLimits, SharePermit, Shares},
};

/// Insights that are computed at the same time: a funnel holds a little of each person. A question beyond these waits.
const COMPUTED: ShareLimits = ShareLimits {
    all: 4,
    of_workspace: 2,
    wait_max: Duration::from_secs(10),
    refused: "too many insights are being computed",
    retry_after: RETRY_AFTER,
};
/// How long the answer to one question is computed, all its series together.
const COMPUTED_IN: Duration = Duration::from_secs(30);
/// When a caller may ask again what could not be answered now.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// State of the handlers of this area; cheap to clone.
#[derive(Debug, Clone)]
pub struct InsightState {
    contacts: ContactState,
    computed: Arc<Shares>,
}

impl InsightState {
    /// The state, while nothing is computed.
    pub fn new(contacts: ContactState) -> Self {
        Self { contacts, computed: Arc::new(Shares::new(COMPUTED)) }
    }

    /// Waits for the turn of one of few answers that are computed at the same time: so many of a workspace, and of all.
    async fn turn(&self, workspace: WorkspaceId) -> Result<Turn> {
        let permit = self.computed.permit(workspace).await;
        let permit = Arc::new(permit.map_err(|error| {
            // Questions that ClickHouse does not end keep their turns.
            if self.readiness().is_up(health::Store::Clickhouse) {
                error
            } else {
                Error::Store(StoreFault::Unavailable { store: Store::Clickhouse, cause: None })
            }
        })?);
        Ok(Turn { analytics: self.analytics().keeping(Arc::clone(&permit)), permit })
    }
}

/// The turn of one answer. It lasts until its work has ended, in ClickHouse and on threads, also where the caller has gone.
#[derive(Debug)]
struct Turn {
    /// The store to ask.
    analytics: Analytics,
    /// Kept by work on other threads.
    permit: Arc<SharePermit>,
}

/// Awaits an answer for so long at most; mostly [`COMPUTED_IN`].
async fn in_time<T>(max: Duration, answer: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(max, Box::pin(answer)).await.unwrap_or_else(|_| {
        Err(Error::bad_request(format!(
            "the question took longer than {} s: ask for fewer series, a shorter range or fewer people",
            max.as_secs()
        )))
    })
}

web::area_state!(InsightState, ContactState, contacts);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_workspace_leaves_insights_to_another() {
        let computed = Shares::new(ShareLimits { wait_max: Duration::ZERO, ..COMPUTED });
        let [busy, other] = [1, 2].map(|number| WorkspaceId::new(uuid::Uuid::from_u128(number)));
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(computed.permit(busy).await.unwrap());
        }
        let refused = computed.permit(busy).await.unwrap_err();
        assert!(refused.is_unavailable());
        assert_eq!(refused.retry_after(), Some(RETRY_AFTER));
        for _ in 0..2 {
            held.push(computed.permit(other).await.unwrap());
        }
    }

    #[tokio::test]
    async fn an_answer_that_takes_too_long_is_given_up() {
        assert_eq!(in_time(COMPUTED_IN, async { Ok(7) }).await.unwrap(), 7);
        let never = std::future::pending::<Result<()>>();
        let refused = in_time(Duration::ZERO, never).await.unwrap_err();
        assert!(matches!(refused, Error::BadRequest { .. }), "{refused:?}");
    }
}
