//! The state of the handlers of callbacks.

use std::sync::Arc;

use delivery::DeliveryState;

use crate::CallbackSources;

/// The state of delivery, and the sources of callbacks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CallbackState {
    delivery: DeliveryState,
    sources: Arc<CallbackSources>,
}

impl CallbackState {
    pub fn new(delivery: DeliveryState, sources: CallbackSources) -> Self {
        Self { delivery, sources: Arc::new(sources) }
    }

    pub fn sources(&self) -> &CallbackSources {
        &self.sources
    }
}

web::area_state!(CallbackState, DeliveryState, delivery);
