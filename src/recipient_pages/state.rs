//! The state of recipient pages.

use std::sync::Arc;

use delivery::DeliveryState;
use tokio::sync::Semaphore;

use crate::tracking::StoredRate;

/// Opens and clicks that are being stored at one time; further ones are dropped.
const PUBLISHING_MAX: usize = 1_024;
/// Concurrent lookups of short links for clients over their rate limit.
const OVER_RATE_LOOKUPS_MAX: usize = 2;

/// The state of delivery, and the limits of tracking. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PageState {
    delivery: DeliveryState,
    stored_engagements: Arc<StoredRate>,
    publishing: Arc<Semaphore>,
    over_rate_lookups: Arc<Semaphore>,
}

impl PageState {
    pub fn new(delivery: DeliveryState, stored_engagements: StoredRate) -> Self {
        Self {
            delivery,
            stored_engagements: Arc::new(stored_engagements),
            publishing: Arc::new(Semaphore::new(PUBLISHING_MAX)),
            over_rate_lookups: Arc::new(Semaphore::new(OVER_RATE_LOOKUPS_MAX)),
        }
    }

    pub fn stored_engagements(&self) -> &StoredRate {
        &self.stored_engagements
    }

    /// A handle whose permits can move into the task that stores the event.
    pub fn publishing(&self) -> Arc<Semaphore> {
        Arc::clone(&self.publishing)
    }

    pub fn over_rate_lookups(&self) -> &Semaphore {
        &self.over_rate_lookups
    }
}

web::area_state!(PageState, DeliveryState, delivery);
