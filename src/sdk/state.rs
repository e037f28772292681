//! What the endpoints for apps may reach.

use std::sync::Arc;

use delivery::DeliveryState;
use kernel::Identity;

use crate::{
    Origins,
    ops::{Live, UserTokens},
};

/// The state of delivery, and what apps need beside it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SdkState(Arc<SdkParts>);

/// What an [`SdkState`] is made of.
#[derive(Debug)]
pub struct SdkParts {
    pub delivery: DeliveryState,
    /// In-app campaigns, ready for apps.
    pub in_app: Live,
    /// Which pages may call `/v1`.
    pub origins: Origins,
    /// Whether calls of apps need a user token.
    pub identity: Identity,
    pub user_tokens: UserTokens,
}

impl SdkState {
    /// A handle around the parts.
    pub fn new(parts: SdkParts) -> Self {
        Self(Arc::new(parts))
    }

    /// In-app campaigns, ready for apps.
    pub fn in_app(&self) -> &Live {
        &self.0.in_app
    }

    /// Which pages may call `/v1`.
    pub fn origins(&self) -> &Origins {
        &self.0.origins
    }

    /// Whether calls of apps need a user token.
    pub fn identity(&self) -> Identity {
        self.0.identity
    }

    pub fn user_tokens(&self) -> &UserTokens {
        &self.0.user_tokens
    }
}

web::area_state!(SdkState, DeliveryState, 0.delivery);
