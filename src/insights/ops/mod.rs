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

use contacts::ContactState;
use kernel::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Insights that are computed at the same time: a funnel holds a little of each person.
const COMPUTED_MAX: usize = 4;
/// How long a question waits for its turn.
const WAIT_MAX: Duration = Duration::from_secs(10);
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// State of the handlers of this area; cheap to clone.
#[derive(Debug, Clone)]
pub struct InsightState {
    contacts: ContactState,
    places: Arc<Semaphore>,
}

impl InsightState {
    /// The state, with all places free.
    pub fn new(contacts: ContactState) -> Self {
        Self { contacts, places: Arc::new(Semaphore::new(COMPUTED_MAX)) }
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.places).acquire_owned();
        let place = tokio::time::timeout(WAIT_MAX, place).await;
        place.ok().and_then(std::result::Result::ok).ok_or(Error::Unavailable {
            what: "too many insights are being computed",
            retry_after: Some(RETRY_AFTER),
        })
    }
}

web::area_state!(InsightState, ContactState, contacts);
