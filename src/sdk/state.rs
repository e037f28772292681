//! The state of the endpoints for apps.

use std::sync::Arc;

use delivery::DeliveryState;
use kernel::Identity;

use crate::{
    Origins,
    ops::{LiveCampaigns, UserTokens},
};

/// The state of delivery and what apps need in addition. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SdkState(Arc<SdkParts>);

/// The parts of an [`SdkState`].
#[derive(Debug)]
pub struct SdkParts {
    pub delivery: DeliveryState,
    pub in_app: LiveCampaigns,
    pub origins: Origins,
    /// Whether calls of apps need a user token.
    pub identity: Identity,
    pub user_tokens: UserTokens,
}

impl SdkState {
    pub fn new(parts: SdkParts) -> Self {
        Self(Arc::new(parts))
    }

    pub fn in_app(&self) -> &LiveCampaigns {
        &self.0.in_app
    }

    pub fn origins(&self) -> &Origins {
        &self.0.origins
    }

    pub fn identity(&self) -> Identity {
        self.0.identity
    }

    pub fn user_tokens(&self) -> &UserTokens {
        &self.0.user_tokens
    }
}

web::area_state!(SdkState, DeliveryState, 0.delivery);
