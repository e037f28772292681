//! The state of contacts: what audiences are asked with.

use audience::AudienceState;
use web::Services;

/// State of the handlers of this area; cheap to clone.
#[derive(Debug, Clone)]
pub struct ContactState {
    audience: AudienceState,
}

impl ContactState {
    pub fn new(services: Services) -> Self {
        Self { audience: AudienceState::new(services) }
    }
}

web::area_state!(ContactState, AudienceState, audience);
