//! What the handlers of callbacks may reach.

use std::sync::Arc;

use delivery::DeliveryState;

use crate::CallbackSources;

/// The state of delivery, and who may report on messages. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CallbackState {
    delivery: DeliveryState,
    sources: Arc<CallbackSources>,
}

impl CallbackState {
    /// The state around these.
    pub fn new(delivery: DeliveryState, sources: CallbackSources) -> Self {
        Self { delivery, sources: Arc::new(sources) }
    }

    /// Who may report on messages.
    pub fn sources(&self) -> &CallbackSources {
        &self.sources
    }
}

web::area_state!(CallbackState, DeliveryState, delivery);
