//! What the handlers of callbacks may reach.

use std::sync::Arc;

use delivery::DeliveryState;

use crate::Tellers;

/// The state of delivery, and who may report on messages. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CallbackState {
    delivery: DeliveryState,
    sources: Arc<Tellers>,
}

impl CallbackState {
    /// The state around these.
    pub fn new(delivery: DeliveryState, sources: Tellers) -> Self {
        Self { delivery, sources: Arc::new(sources) }
    }

    /// Who may report on messages.
    pub fn tellers(&self) -> &Tellers {
        &self.sources
    }
}

web::area_state!(CallbackState, DeliveryState, delivery);
