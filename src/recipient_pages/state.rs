//! What the handlers of recipients' pages may reach.

use std::sync::Arc;

use delivery::DeliveryState;

use crate::tracking::StoredRate;

/// The state of delivery, and how many opens and clicks are stored. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PageState {
    delivery: DeliveryState,
    stored_engagements: Arc<StoredRate>,
}

impl PageState {
    /// The state around these.
    pub fn new(delivery: DeliveryState, stored_engagements: StoredRate) -> Self {
        Self { delivery, stored_engagements: Arc::new(stored_engagements) }
    }

    /// How many opens and clicks of one message are stored.
    pub fn stored_engagements(&self) -> &StoredRate {
        &self.stored_engagements
    }
}

web::area_state!(PageState, DeliveryState, delivery);
