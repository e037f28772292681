//! What the handlers and workers of delivery may reach.

use std::sync::Arc;

use campaigns::CampaignState;
use config::{Callbacks, Retention, Transactional};
use providers::Providers;

/// The state of campaigns, and what sending needs beside it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DeliveryState(Arc<DeliveryParts>);

/// What a [`DeliveryState`] is made of.
#[derive(Debug)]
pub struct DeliveryParts {
    pub campaigns: CampaignState,
    /// The providers of every channel.
    pub providers: Providers,
    pub transactional: Transactional,
    pub retention: Retention,
    pub callbacks: Callbacks,
}

impl DeliveryState {
    /// A handle around the parts.
    pub fn new(parts: DeliveryParts) -> Self {
        Self(Arc::new(parts))
    }

    /// The providers of every channel.
    pub fn providers(&self) -> &Providers {
        &self.0.providers
    }

    pub fn transactional(&self) -> Transactional {
        self.0.transactional
    }

    pub fn retention(&self) -> Retention {
        self.0.retention
    }

    pub fn callbacks(&self) -> &Callbacks {
        &self.0.callbacks
    }
}

web::area_state!(DeliveryState, CampaignState, 0.campaigns);
