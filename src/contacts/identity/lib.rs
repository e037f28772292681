//! One person, many identifiers: links of anonymous ids, aliases, and merges of profiles.

pub mod api;
pub mod model;
pub mod ops;
mod store;

use std::{sync::Arc, time::Duration};

use kernel::{Result, WorkspaceId};
use web::{
    Services,
    shares::{ShareLimits, SharePermit, Shares},
};

/// Merges that are asked for at the same time. Those of the same profiles wait for each other, and each that waits holds a
/// connection to PostgreSQL: the others wait without one.
const MERGES: ShareLimits = ShareLimits {
    all: 4,
    of_workspace: 2,
    wait_max: Duration::from_secs(10),
    refused: "too many profiles are being merged",
    retry_after: Duration::from_secs(1),
};

/// State of the handlers of this area; cheap to clone.
#[derive(Debug, Clone)]
pub struct IdentityState {
    services: Services,
    merges: Arc<Shares>,
}

impl IdentityState {
    /// The state, while nothing is merged.
    pub fn new(services: Services) -> Self {
        Self { services, merges: Arc::new(Shares::new(MERGES)) }
    }

    /// Waits for the permit to merge profiles of a workspace.
    async fn merge_permit(&self, workspace: WorkspaceId) -> Result<SharePermit> {
        self.merges.permit(workspace).await
    }
}

web::area_state!(IdentityState, Services, services);
