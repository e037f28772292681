//! The state of contacts: the services, and a limit that all queries of audiences share.

use std::{sync::Arc, time::Duration};

use kernel::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use web::Services;

/// Audiences with event filters that are queried at the same time: each holds sets of people in PostgreSQL.
const EVENT_AUDIENCES_MAX: usize = 4;
/// How long a query waits for a permit.
const PERMIT_WAIT_MAX: Duration = Duration::from_secs(10);

/// State of the handlers of this area; cheap to clone.
#[derive(Debug, Clone)]
pub struct ContactState {
    services: Services,
    event_audiences: Arc<Semaphore>,
}

impl ContactState {
    pub fn new(services: Services) -> Self {
        Self { services, event_audiences: Arc::new(Semaphore::new(EVENT_AUDIENCES_MAX)) }
    }

    /// Waits for the permit to query an audience with event filters.
    pub(crate) async fn event_audience_permit(&self) -> Result<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.event_audiences).acquire_owned();
        let permit = tokio::time::timeout(PERMIT_WAIT_MAX, permit).await;
        permit.ok().and_then(std::result::Result::ok).ok_or_else(Error::store_unavailable)
    }
}

web::area_state!(ContactState, Services, services);
